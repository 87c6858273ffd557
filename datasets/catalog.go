package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/near"
)

// Entry describes a dataset that Open knows by name.
type Entry struct {
	Name     string
	Title    string
	Layout   Layout
	Files    []File // what it is read from; none for the generated dataset
	Folder   string // where the same files may lie unpacked, under the data folder; "" for layouts of one plain file
	License  string
	Citation string
	Note     string // what a reader of the figures below should know
	StandIn  string // the benchmark whose edges and labels it has, with generated features; "" for all but stand-ins
	Recipe   Recipe // whose constants methods take by default

	PaperName string // what SAOT's tables call the stream; "" for all but its four

	Paper    Stats // as SAOT's Table 1 prints them; zero for what the paper does not use
	Appendix Stats // as its appendix prints them, where that differs
	True     Stats // of the real files
}

// File is one file of a dataset.
type File struct {
	Name   string `json:"name"`   // under the data folder, with slashes
	Bytes  int64  `json:"bytes"`  // 0: not known beforehand
	SHA256 string `json:"sha256"` // in hexadecimal; "" where nobody published it: then recorded at the first fetch
	// mirrors of the same bytes, in order; none for a stand-in's own file
	URLs []string `json:"urls"`
	// git's name of the file in the publisher's repository (fetch.Sums), known where SHA256 may not be
	GitBlob string `json:"git_blob,omitempty"`
	Copies  []Copy `json:"-"` // other files that go by this name and hold the same graph

	Optional bool `json:"optional,omitempty"` // the dataset can be read without it
}

// Copy is a known file with other bytes than the published one.
type Copy struct {
	SHA256  string // or the checksum of a folder's files
	Origin  string
	Content string // Dataset.Content of the graph, read undirected; a stand-in's file has no features
}

// KnownContent returns the Dataset.Content of a dataset whose Checksum is that of a known copy, or "". Results that
// record a checksum alone are compared by it.
func KnownContent(checksum string) string {
	for _, e := range Catalog() {
		for _, f := range e.Files {
			for _, c := range f.Copies {
				switch {
				case e.StandIn == "" && c.SHA256 == checksum:
					return c.Content
				case e.StandIn != "" && e.standInSum(c.SHA256) == checksum:
					return e.standInSum(c.Content)
				}
			}
		}
	}
	return ""
}

// Stats are the figures of a dataset; 0 stands for one that is not given.
type Stats struct {
	Nodes int64 `json:"nodes"`
	// of the real files: undirected, without duplicates and self-loops; in the paper: as printed
	Edges   int64 `json:"edges"`
	Entries int64 `json:"stored_edges"` // as the file stores them
	Columns int   `json:"features"`     // width of the features
	Classes int   `json:"classes"`
	Tasks   int   `json:"tasks"` // of two classes each
}

// Catalog lists the datasets that Open knows by name.
//
// Where the figures and checksums come from: the paper's Table 1 and appendix; for the real files the publishers' own
// pages, PyTorch Geometric's and DGL's documentation, and, where a test reads the file, our own count. SHA-256 sums of
// files that could not be had here are those that several independent public projects pin; git blobs are read off the
// trees of the publishers' repositories (gnn-benchmark 1e72912, graph2gauss 2402482, wiki-cs-dataset f520731, GraphData
// f8022c2).
func Catalog() []Entry {
	entries := []Entry{{Name: "synthetic", License: "none needed", Recipe: RecipeSynthetic,
		Title: "generated citation-like graph, needs no file; synthetic,homophily=0.6 and the like change it, " +
			"synthetic:NODES makes one of any size",
		True: Stats{Nodes: 600, Columns: 256, Classes: 8, Tasks: 4}}}
	entries = append(entries, benchmarks()...)
	entries = append(entries, citations()...)
	entries = append(entries, coPurchases()...)
	entries = append(entries, others()...)
	return append(entries, standIns(benchmarks())...)
}

// ErrUnknown marks a name that no dataset has.
var ErrUnknown = errors.New("unknown dataset")

// Lookup returns the entry of a name; those of generated graphs (ParseSynthetic, ParseScaled) are made for it. Its
// error is ErrUnknown and lists the known names, or says what is wrong with that of a generated graph.
func Lookup(name string) (Entry, error) {
	if strings.HasPrefix(name, scaledPrefix) {
		return scaledEntry(name)
	}
	if strings.HasPrefix(name, changedPrefix) {
		return changedEntry(name)
	}
	var known []string
	for _, e := range Catalog() {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Entry{},
		fmt.Errorf("datasets: %w %q%s: choose %s, or the path of your own .npz file or folder, such as ./graph",
			ErrUnknown, name, hint(name, known), strings.Join(known, ", "))
}

// hint says how a file or folder of the name is meant, or which known name may be.
func hint(name string, known []string) string {
	info, err := os.Stat(name)
	if err != nil || name != filepath.Base(name) {
		return near.Hint(name, known)
	}
	kind := "file"
	if info.IsDir() {
		kind = "folder"
	}
	return fmt.Sprintf(" (there is a %s %s: write ./%s)", kind, name, name)
}

const (
	graph2gauss = "Bojchevski, Günnemann: Deep Gaussian Embedding of Graphs: Unsupervised Inductive Learning via " +
		"Ranking. ICLR 2018"
	pitfalls = "Shchur et al.: Pitfalls of Graph Neural Network Evaluation. arXiv:1811.05868, 2018"
	ogb      = "Hu, Fey, Zitnik, Dong, Ren, Liu, Catasta, Leskovec: Open Graph Benchmark: Datasets for Machine " +
		"Learning on Graphs. NeurIPS 2020"
	graphData     = "GraphData's copy"
	repackaged    = graphData + " with gnn-benchmark's keys"
	mitRepository = "MIT (of the repository that publishes it)"
)

func onGitHub(repository, path, name, blob string) File {
	return File{Name: name, GitBlob: blob, URLs: []string{
		"https://github.com/" + repository + "/raw/master/" + path,
		"https://raw.githubusercontent.com/" + repository + "/master/" + path,
	}}
}

func gnnBenchmark(name, blob string) File {
	return onGitHub("shchur/gnn-benchmark", "data/npz/"+name, name, blob)
}

func fromGraph2gauss(name, blob string) File {
	return onGitHub("abojchevski/graph2gauss", "data/"+name, name, blob)
}

// withCopies adds GraphData's file, and the same under gnn-benchmark's keys where there is one.
func (f File) withCopies(content, fromGraphData, underKeys string) File {
	f.Copies = append(f.Copies, Copy{fromGraphData, graphData, content})
	if underKeys != "" {
		f.Copies = append(f.Copies, Copy{underKeys, repackaged, content})
	}
	return f
}

func benchmarks() []Entry { return append(coraFulls(), largeBenchmarks()...) }

func coraFulls() []Entry {
	coraFull := Entry{
		Title: "CoraFull: papers of computer science and their citations", Layout: LayoutNPZ, License: mitRepository,
		Citation: graph2gauss,
		Recipe:   RecipeCoraFull, PaperName: "CoraFull-CL",
		Paper:    Stats{Nodes: 19793, Edges: 130622, Classes: 70, Tasks: 35},
		Appendix: Stats{Nodes: 19793, Edges: 126842, Columns: 8710, Classes: 70, Tasks: 35},
		True:     Stats{Nodes: 19793, Edges: 63421, Entries: 65311, Columns: 8710, Classes: 70, Tasks: 35},
		Note: "the paper's 130,622 edges are both directions of the 65,311 stored entries, duplicates and " +
			"self-loops included; 126,842 are both directions without them. Feature rows are TF-IDF weights of " +
			"L2 norm 1, which PyTorch Geometric turns into 0 and 1.",
	}
	full, original := coraFull, coraFull
	full.Name, full.Files = "cora-full", []File{gnnBenchmark("cora_full.npz",
		"2478a176d63fe71090f4c21fe588bf5d381cad80")}
	original.Name, original.Title = "cora", "CoraFull as graph2gauss publishes it, which PyTorch Geometric reads"
	original.Files = []File{fromGraph2gauss("cora.npz", "7dfe6828aec9c9a337ce1bb8efe088e5870e0666")}
	original.Files[0].SHA256 = "62e054f93be00a3dedb15b7ac15a2a07168ceab68b40bf95f54d2289d024c6bc"
	return []Entry{full, original}
}

func largeBenchmarks() []Entry {
	return []Entry{{
		Name: "ogbn-arxiv", Title: "papers of computer science on arXiv and their citations", Layout: LayoutOGB,
		Folder: "ogbn_arxiv",
		Recipe: RecipeArxiv, PaperName: "Arxiv-CL",
		Files: []File{{
			Name: "arxiv.zip", Bytes: 83058288,
			SHA256: "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276",
			URLs: []string{"https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
				"http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"},
		}},
		License: "ODC-BY", Citation: ogb,
		Paper:    Stats{Nodes: 169343, Edges: 1166243, Classes: 40, Tasks: 20},
		Appendix: Stats{Nodes: 169343, Edges: 1166243, Columns: 128, Classes: 40, Tasks: 20},
		True:     Stats{Nodes: 169343, Edges: 1157799, Entries: 1166243, Columns: 128, Classes: 40, Tasks: 20},
		Note:     "the 1,166,243 edges are directed; 8,444 pairs of papers cite each other.",
	}, {
		Name: "ogbn-products", Title: "goods of Amazon that are bought together", Layout: LayoutOGB,
		Folder: "ogbn_products",
		Recipe: RecipeProducts, PaperName: "Products-CL",
		Files: []File{{
			Name: "products.zip", SHA256: "5ea0a112edaec2141c0a2a612dd4aed58df97ff3e1ab1a0ca8238f43cbbb50a8",
			URLs: []string{"https://snap.stanford.edu/ogb/data/nodeproppred/products.zip",
				"http://snap.stanford.edu/ogb/data/nodeproppred/products.zip"},
		}},
		License: "Amazon license (https://aws.amazon.com/asl/)", Citation: ogb,
		Paper:    Stats{Nodes: 2449029, Edges: 61859140, Classes: 47, Tasks: 23},
		Appendix: Stats{Nodes: 2449028, Edges: 61859036, Columns: 100, Classes: 46, Tasks: 23},
		True:     Stats{Nodes: 2449029, Entries: 61859140, Columns: 100, Classes: 47, Tasks: 23},
		Note: "about 1.4 GB. The file stores each edge once. One class has a single node and is left out, which " +
			"leaves 2,449,028 nodes, 46 classes and 23 tasks; how many of the 61,859,140 entries are duplicates or " +
			"self-loops could not be counted here.",
	}, {
		Name: "reddit", Title: "posts on Reddit, joined where the same person commented", Layout: LayoutReddit,
		Folder: "reddit",
		Recipe: RecipeReddit, PaperName: "Reddit-CL",
		Files: []File{{
			Name: "reddit.zip", Bytes: 1397962821,
			SHA256: "9a16353c28f8ddd07148fc5ac9b57b818d7911ea0fbe9052d66d49fc32b372bf",
			URLs: []string{"https://data.dgl.ai/dataset/reddit.zip",
				"https://s3.us-east-2.amazonaws.com/dgl.ai/dataset/reddit.zip"},
		}},
		License:  "none stated",
		Citation: "Hamilton, Ying, Leskovec: Inductive Representation Learning on Large Graphs. NeurIPS 2017",
		Paper:    Stats{Nodes: 232965, Edges: 114615892, Classes: 40, Tasks: 20},
		Appendix: Stats{Nodes: 227853, Columns: 602, Classes: 40, Tasks: 20},
		True:     Stats{Nodes: 232965, Edges: 57307946, Entries: 114615892, Columns: 602, Classes: 41, Tasks: 20},
		Note: "the paper's 114,615,892 edges are both directions and those of all 41 classes. The odd last class, " +
			"5,112 nodes, is left out: 227,853 nodes are used, with fewer edges than that. The appendix says " +
			"\"approximately 114.6 million\" edges of them.",
	}}
}

func citations() []Entry {
	coraML := fromGraph2gauss("cora_ml.npz", "2df67d57d5c34554a689f8addde7fc3bdf37a415").
		withCopies("ef7e7a063fabb04f6abe2a149cc8ab492db8153897b3e2496412b5fb9159357b",
			"590d93689ec70aa0da17b3f1c6915dfd3c1b6306ad4f3286a2075599f7a85630",
			"9575fe87e7d988d967d01ec0b6ef692ace091b49de100b028817c03a2e23305f")
	citeseer := fromGraph2gauss("citeseer.npz", "b611f48626e7f40fcc81a36b4f022979ea998b38").
		withCopies("fa0e6422f90edb14ee1d8c4b9847fdfbc7f10160ea9862db25d47a670f7c94db",
			"403e8976b21eed58544dca956b6bd8b513779124c6f88da9538609b085ac8651",
			"1b64c204131ade5d4d523fb89ed863408380a4a178c78d85b034699aa8124c84")
	dblp := fromGraph2gauss("dblp.npz", "3e179a9ebf2968d9ad67544c8978bf4759e489d8").
		withCopies("a7c73bf806ed2b20a291026b0570148fa621cf3fa77f27b119d08e9a5d303d20",
			"e1c460c864735b88158e230e715715b08a8f7bb7c94f7f6c3b5efc412558877d", "")
	coauthorCS := gnnBenchmark("ms_academic_cs.npz", "9bdd7da943d86b74297e8d32e99eb64245b52835").
		withCopies("231789ce21af29c3ca8fd9a24e07685e810f05d26694ac1978d956df33beffff",
			"7b7b51bf270d341f1c4231834c58a526bb04db003fd76a6d2f51ad7d252005ed",
			"6775a2bbbd626ccee6ff95ffe4e725a9e72980b4b3799dd8a9317d9597a099d3")
	coauthorPhysics := gnnBenchmark("ms_academic_phy.npz", "8d8bc12e29aa67f6753a712080eae81079bd7d01").
		withCopies("75588773ff791dd165a24b27323af104f60e2c37c30188c899b7acbf1202093b",
			"1c930d99910763bc5f0c1aa90e8baa945f5ad6027663fe5332d0f08fde33cd7d", "")
	return []Entry{{
		Name: "cora-ml", Title: "Cora-ML: papers of machine learning", Layout: LayoutNPZ, License: mitRepository,
		Citation: graph2gauss,
		Files:    []File{coraML}, Recipe: RecipeCora,
		True: Stats{Nodes: 2995, Edges: 8158, Entries: 8416, Columns: 2879, Classes: 7, Tasks: 3},
	}, {
		Name: "citeseer", Title: "Citeseer: papers of computer science", Layout: LayoutNPZ, License: mitRepository,
		Citation: graph2gauss,
		Files:    []File{citeseer},
		True:     Stats{Nodes: 4230, Edges: 5337, Entries: 5358, Columns: 602, Classes: 6, Tasks: 3},
		Note:     "graph2gauss's Citeseer, not the 3,327 nodes of Planetoid nor gnn-benchmark's file of the same name.",
	}, {
		Name: "dblp", Title: "DBLP: papers of computer science", Layout: LayoutNPZ, License: mitRepository,
		Citation: graph2gauss,
		Files:    []File{dblp},
		True:     Stats{Nodes: 17716, Edges: 52867, Columns: 1639, Classes: 4, Tasks: 2},
	}, {
		Name: "coauthor-cs", Title: "Coauthor-CS: computer scientists who wrote together", Layout: LayoutNPZ,
		License: mitRepository, Citation: pitfalls,
		Files: []File{coauthorCS},
		True:  Stats{Nodes: 18333, Edges: 81894, Columns: 6805, Classes: 15, Tasks: 7},
	}, {
		Name: "coauthor-physics", Title: "Coauthor-Physics: physicists who wrote together", Layout: LayoutNPZ,
		License: mitRepository, Citation: pitfalls,
		Files: []File{coauthorPhysics},
		True:  Stats{Nodes: 34493, Edges: 247962, Columns: 8415, Classes: 5, Tasks: 2},
	}}
}

func coPurchases() []Entry {
	computers := gnnBenchmark("amazon_electronics_computers.npz", "8120e4148a330b3fafe37c4476823302d9d834b9").
		withCopies("f5976daad55bbf9999b32ab3d931c0cf4ad12e60cd7e44b98e8eddacafe5b9fd",
			"a6942db609f196b53503d91b99a02ad8d052d5d9be8ef41db976fb65f66ed1f3",
			"d05b999eb3bd2f435582e97ba926a7956e8ec6e98d1a60b4388def7368c3d5d0")
	photo := gnnBenchmark("amazon_electronics_photo.npz", "97323743cb56aca9dd611f5b4b46862c1c9c6bd9").
		withCopies("2dba0acdfcdc47fd68492b2f2a38487e59c22a183f87ab26a4e4fd499e03d9bd",
			"bdb98b54cd3125bfa69b23ba0aae84fabcb770c6727175b8f6eb1d64f3be4b2b", "")
	return []Entry{{
		Name: "amazon-computers", Title: "Amazon-Computers: goods bought together", Layout: LayoutNPZ,
		License: mitRepository, Citation: pitfalls,
		Files: []File{computers},
		True:  Stats{Nodes: 13752, Edges: 245861, Entries: 287209, Columns: 767, Classes: 10, Tasks: 5},
	}, {
		Name: "amazon-photo", Title: "Amazon-Photo: goods bought together", Layout: LayoutNPZ, License: mitRepository,
		Citation: pitfalls,
		Files:    []File{photo},
		True:     Stats{Nodes: 7650, Edges: 119081, Entries: 143663, Columns: 745, Classes: 8, Tasks: 4},
	}}
}

// others have layouts of their own, or no publisher.
func others() []Entry {
	wiki := onGitHub("pmernyei/wiki-cs-dataset", "dataset/data.json", "wikics.json",
		"f1b743119df1a7a3bca449039c54034ae623a756")
	wiki.Bytes, wiki.SHA256 = 82533647, "9bf8cb3ef8eeae81b25e6ccbe0ea195600c205d7edf63ce04f2ec8d9c7dcb3d8"
	uai := onGitHub("EdisonLeeeee/GraphData", "datasets/uai.npz", "uai.npz", "7d2618be7a0230c315fe5830fa855a835e16d9b8")
	uai.Bytes, uai.SHA256 = 3297397, "02fd966f6f73b71baee954a735c523ff42a7aeffbb70858fd5d62ee0ba4a0ed2"
	uai.Copies = []Copy{{"c58c5fe6056c3c902e524656aa047e125cc61affd5ab27b1eadf7178965abb07", repackaged,
		"92c11307c5d0716a917f36dfa790e51207a22d8685a8bbbb82a2fe41fd210cec"}}
	return []Entry{{
		Name: "wikics", Title: "Wiki-CS: articles of Wikipedia on computer science and their links",
		Layout: LayoutWikiCS, Files: []File{wiki},
		License: "MIT (of the repository that publishes it); the articles are CC BY-SA",
		Citation: "Mernyei, Cangea: Wiki-CS: A Wikipedia-Based Benchmark for Graph Neural Networks. " +
			"arXiv:2007.02901, 2020",
		True: Stats{Nodes: 11701, Edges: 215603, Columns: 300, Classes: 10, Tasks: 5},
		Note: "216,123 edges are also given for it: undirected, with 520 self-loops. Published as data.json.",
	}, {
		Name: "flickr", Title: "Flickr: pictures with something in common", Layout: LayoutSAINT, Folder: "flickr",
		Files: []File{
			onDrive("flickr/adj_full.npz", "1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy"),
			onDrive("flickr/feats.npy", "1join-XdvX3anJU_MLVtick7MgeAQiWIZ"),
			onDrive("flickr/class_map.json", "1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9"),
			optional(onDrive("flickr/role.json", "1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7")),
		},
		License: "none stated",
		Citation: "Zeng, Zhou, Srivastava, Kannan, Prasanna: GraphSAINT: Graph Sampling Based Inductive Learning " +
			"Method. ICLR 2020",
		True: Stats{Nodes: 89250, Edges: 449878, Entries: 899756, Columns: 500, Classes: 7, Tasks: 3},
		Note: "no checksum was ever published: the sums of the first fetch are recorded and checked from then on.",
	}, {
		Name: "uai", Title: "UAI2010: pages of Wikipedia", Layout: LayoutNPZ, License: "MIT (of GraphData)",
		Files:    []File{uai},
		Citation: "Wang, Zhu, Bo, Cui, Shi, Pei: AM-GCN: Adaptive Multi-channel Graph Convolutional Networks. KDD 2020",
		True:     Stats{Nodes: 3067, Edges: 28308, Columns: 4973, Classes: 19, Tasks: 9},
	}}
}

// onDrive returns a file of GraphSAINT's folder on Google Drive, with the identities that PyTorch Geometric names.
func onDrive(name, id string) File {
	return File{Name: name, URLs: []string{
		"https://drive.usercontent.google.com/download?id=" + id + "&confirm=t",
		"https://docs.google.com/uc?export=download&id=" + id + "&confirm=t",
	}}
}

func optional(f File) File {
	f.Optional = true
	return f
}

// Recipe names the benchmark whose published constants a method takes on a dataset. Methods choose their defaults by
// it, not by the dataset's name, so that one graph under two names has one set of defaults.
type Recipe string

// The recipes.
const (
	NoRecipe           Recipe = ""
	RecipeSynthetic    Recipe = "synthetic"      // the generated stream, small enough for the pure-Go engine
	RecipeCora         Recipe = "cora"           // Cora-ML
	RecipeCoraFull     Recipe = "cora-full"      // CoraFull, by whatever name
	RecipeArxiv        Recipe = "arxiv"          // ogbn-arxiv
	RecipeArxivStandIn Recipe = "arxiv-topology" // ogbn-arxiv's edges with generated features
	RecipeReddit       Recipe = "reddit"
	RecipeProducts     Recipe = "products" // ogbn-products
)

// RecipeOf returns the recipe of a dataset by its name in the catalog. A file or an unknown name has none.
func RecipeOf(name string) Recipe {
	if IsPath(name) {
		return NoRecipe
	}
	e, err := Lookup(name)
	if err != nil {
		return NoRecipe
	}
	return e.Recipe
}
