package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
)

// goldenVariants are the options of the streams whose hashes stand in goldenStreams, in that order.
var goldenVariants = []StreamOptions{
	DefaultStreamOptions(),
	{SplitSeed: 1, SplitBy: PerTask, TrainRatio: 0.5, TestRatio: 0.25},
	{SplitSeed: 7, Order: OrderRandom, OrderSeed: 3, ClassesPerTask: 3},
	{SplitSeed: 1, InterTask: KeepEdges, FoldValid: true}, // not of arxiv-topology, whose graphs would take gigabytes
}

// The hashes were computed by this test at commit 5134863, before datasets/graph and the readers were reorganized.
// Published figures rest on these splits: a change here is a change of the protocol.
var goldenStreams = []struct {
	name, file string // the dataset, and the file in SAOT_DATA that it needs
	checksum   string // Dataset.Checksum
	content    string // contentHash
	splits     []string
}{
	{"synthetic", "", "562a1feebd032dca9097696d30b1075b0fc1e738e9cd87be7807f3d4f1b11572", "0d0a7047e4166dcf", []string{
		"7696dd40158aff104063d99471d79ab5695ebb21133d56c2cea05ec4cee1ba87",
		"c5327464fb5de830c52124dda8254bcabf613cb586b97508e9bfcbfae836f28b",
		"aba8159847788560c1d09bc5dea6f99ec3067830e8cbe32bcf6673706e277777",
		"b18949e2975f8093742c39eeda9c3f18726ab8bd036685290e113c5a8a84874a",
	}},
	{"synthetic:3000", "", "53c211e27bb4ebf5c68f57da717b52a85fa99ff7aeb4b8ca8960a56b90b2b4f9", "a143388a0d0c3ee9",
		[]string{
			"08d9d6acaabaf258f45bb5d21af9640338cf1c7bbeb1007b3b0fc9f0d294e7d6",
			"197f4a49438a6e2d8caf6cee54a1d12a84ab9c93330c12fcc87df50487952b8d",
			"0aba6bf7842212658ac6f140328a9413dd7a23c03d4fe5a42f62cdfd18277cc3",
			"3685ce5f446384d4590f193c34d5c5a1bb422f2e6757c47af086ea1f4f2c6965",
		}},
	{"synthetic:5000,seed=4,classes=7,degree=6.5,columns=16", "",
		"0d521e3f3bddcdcf9fe00be0fcf30755b3c1995c251f150971016c7ffa6b994f", "c7d76c9a56e2cf15", []string{
			"e9fd960ada60186b0f1fd206310cb6e60f79f20871af7bd89555aaf004d80004",
			"4ee433c621823afe44eec9180aa436b82c06da1d978021e04841a8704ace1730",
			"6d45c73500a361172f3c90ff54c91db8f0e35a9c41b655f395ef80f3bae28bc8",
			"ab5b1e9c969a4aab3b4f6dbe2462d6c3722e0e8a2c482be7b48095e141174fe4",
		}},
	{"cora-ml", "cora_ml.npz", "9575fe87e7d988d967d01ec0b6ef692ace091b49de100b028817c03a2e23305f", "23084cefaa1358e6",
		[]string{
			"1e5a8a5c7acddb1e795f158402e3be7d1fa2332a754f7ebd391e9811cb80a60e",
			"bad18191e5a4ad4ae247c46dc04002205417741ef6b9e4aa86c59c71a86aac62",
			"e37ae250b2a1573f6ac2e1520b1da930f7ff1def79a4ec661b45e24fa498a3a6",
			"5f6e55bedf22bba6322ba732a1202d97b1763d0e310bd9ee6a6a12ecc70408db",
		}},
	{"uai", "uai.npz", "c58c5fe6056c3c902e524656aa047e125cc61affd5ab27b1eadf7178965abb07", "8736880e5876de14", []string{
		"fd01d5bd84110c9f23d8e29be579074552176cf81080016fe8fdeb255ae37234",
		"2a937c70616c1dcdd74e6760c080502b458065ea9d52b1fab9270317186c8c2e",
		"a1f6336cda3fe2f8a8541a3930ef1a023eaaabca79302c302c4cec52e22e9fec",
		"55cb0a9039809f611073e9633114705fc9c12726373573b76a4a3d99141cdce7",
	}},
	{"amazon-computers", "amazon_electronics_computers.npz",
		"d05b999eb3bd2f435582e97ba926a7956e8ec6e98d1a60b4388def7368c3d5d0", "2ca94678a7e700dd", []string{
			"bcf17368a0f7991864e76751ebcfcbd9a7c730b39c4d14fb0e22072befb179cb",
			"7a2bb89ad24bf1df202249cfd812274220e1cf6e8ed9c399ca99d63f1831e03c",
			"ef1502815b919a0a495ac23e2d23c3add90e86fc7e613c79475b1f991925ff96",
			"1ed3fc6ba202c275f4038e9b363b3101ce5f30631d3e85e8a5c611b46c3e8db6",
		}},
	{"coauthor-cs", "ms_academic_cs.npz", "6775a2bbbd626ccee6ff95ffe4e725a9e72980b4b3799dd8a9317d9597a099d3",
		"212340bcead55bd0", []string{
			"02ec1891f8524b1ba38390166f78da0ac3224457fdf73b57a3d0a532c0e027aa",
			"5c3b4e1088fb8ca8ad899e32dfb5568a542c39917bca745f40637aa85a6463c4",
			"0dfc56ad099a7051afda075bf97b3622415ca5b7e81b68bbc8823c84a6aa4d2a",
			"a9428bcf39372a7017f65c787ca9d8ef72b7000a71a4146e165ad5e6fcf55d26",
		}},
	{"corafull-topology", "cora_full_topology.npz", "ce4b763f6f18dca35df563e7da33cd2645442edeac21848d4050b1980a631fa9",
		"6fddc5fa16df26b2", []string{
			"65866de7e7c25ef09d27488828b7b5ca3602f0330e4efe981d08de0b29f69afc",
			"70d4a3059cbcaf26fed41758b68379b49aa0d19895fef1eff0e023c872d57dce",
			"05cd07e90af9b6d94365b3853f85c7efb2d97ae41dab696b7ccab86ae84949cf",
			"52768982a1f26cdc74843a57849bd572085b85bc524896f59aa0a9958a61f558",
		}},
	{"arxiv-topology", "ogbn_arxiv/raw/edge.csv.gz", "cf5aa7c987fb5d64559e19fdd5396178439456ca1c9c8fb4294f6365d8fefe5f",
		"e2def24b081597c1", []string{
			"d2723b9e2d2b31f342bf04d0bc622c5ebf5eb2bff21118fb3873454d76c4c74a",
			"bb67c7bab73ff25266aa264389bb5307c3773c1656447601259920baf1c0b1a3",
			"7163a88fca469e93bea626b4809c296ea013bdafe9486065513eced1be069cb4",
		}},
	{"ogbn-arxiv-labels", "ogbn_arxiv/raw/node-label.csv.gz",
		"b06e7cf75d909de66ce49bc4188a6dc525224f85dd6dcb36137de3d9321830d1", "c566ce74cf7708f0", []string{
			"d2723b9e2d2b31f342bf04d0bc622c5ebf5eb2bff21118fb3873454d76c4c74a",
			"bb67c7bab73ff25266aa264389bb5307c3773c1656447601259920baf1c0b1a3",
			"7163a88fca469e93bea626b4809c296ea013bdafe9486065513eced1be069cb4",
			"4d41959b61b05bb7a8960727ea95a8e3bfe400f49319d86c9ac37ef34adcfc96",
		}},
	{"ogbn-products-labels", "ogbn_products/raw/node-label.csv.gz",
		"5d817cf7dbdeb4e84418b3d96fb5f35846aa873095e9f743df4fec60d4a85c16", "51ca8dc735f18783", []string{
			"94bd2ccee0ce5f16c660d15b135c5bcb87f3474e82170da171d3261f44b59901",
			"5d1a0e01e981427a7d59d48bf787ece9f89ca59b1435c1107fbc4736aee8de0e",
			"ee5d9b8ab86bb9ae6c292d2a2bcd2f29c32e70a5d1fb46ca1fadc1d53db08ba2",
			"dfe634ecd0d3bb2fb9958f8ca9cb54a80f1286e4aca0f690148db05ea2a4a78e",
		}},
}

// contentHash is over a dataset's labels, edges and features, bit by bit.
func contentHash(t *testing.T, ds *Dataset) string {
	t.Helper()
	h := sha256.New()
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	for _, part := range []any{ds.Labels, a.Offsets, a.Neighbors, x.Dense, x.Columns, x.Values} {
		require.NoError(t, binary.Write(h, binary.LittleEndian, part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// openGolden opens a dataset by its name or its file of labels, or skips where the file is absent.
func openGolden(t *testing.T, name, file string) (*Dataset, error) {
	t.Helper()
	if file == "" {
		return Open(name, "", Options{})
	}
	path := realFile(t, file)
	if filepath.Base(path) == ogbLabels {
		return loadOGBLabels(path)
	}
	return Open(name, os.Getenv("SAOT_DATA"), Options{})
}

func TestGoldenStreams(t *testing.T) {
	for _, tc := range goldenStreams {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() && (tc.name == "arxiv-topology" || tc.name == "ogbn-products-labels") {
				t.Skip("a large graph: not in short mode")
			}
			ds, err := openGolden(t, tc.name, tc.file)
			require.NoError(t, err)
			require.Equal(t, tc.checksum, ds.Checksum)
			if golden.Exact() {
				require.Equal(t, tc.content, contentHash(t, ds))
			}
			for k, want := range tc.splits {
				s, err := NewStream(ds, goldenVariants[k])
				require.NoError(t, err)
				require.Equal(t, want, s.SplitHash, "variant %d", k)
			}
		})
	}
}
