"""Writes the files of this folder: the graph of tiny() in npz_test.go, as GraphData stores graphs.

Made with NumPy 2.4.6 and SciPy 1.17.1: python3 make.py
"""

import io
import pickle
import zipfile

import numpy as np
import scipy.sparse as sp

adjacency = sp.csr_matrix((np.ones(6, np.float32), np.int32([1, 1, 2, 0, 2, 3]), np.int32([0, 3, 5, 5, 6])), (4, 4))
features = sp.csr_matrix((np.float32([1, 2, 3, 4]), np.int32([2, 0, 1, 1]), np.int32([0, 2, 2, 3, 4])), (4, 3))


def entry(value, protocol):
    """The bytes of an .npy file, with objects pickled by a protocol."""
    array = np.asanyarray(value) if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
    if array.dtype == object:
        pickle.dump(array, out, protocol=protocol)
    else:
        out.write(array.tobytes())
    return out.getvalue()


def write(path, adj, attr, protocol):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for key, value in {"adj_matrix": adj, "node_attr": attr, "node_label": np.int32([0, 0, 1, 1])}.items():
            z.writestr(key + ".npy", entry(value, protocol))


for protocol in (2, 3, 4, 5):
    write(f"csr-{protocol}.npz", adjacency, features, protocol)
write("csc-4.npz", adjacency.tocsc(), sp.csc_array(features), 4)
write("dense-4.npz", sp.csr_array(adjacency), features.toarray(), 4)
write("coo-4.npz", adjacency.tocoo(), features, 4)
