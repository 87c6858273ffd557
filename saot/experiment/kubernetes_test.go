package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// manifestJob and manifestOptions use every field of the manifest.
func manifestJob() Job {
	return Job{Name: "Table 2", Numbers: []int{1, 4, 5}, Workers: 2, CPUs: 4, GPUs: 1,
		Demand:  Demand{Time: 2 * time.Hour, Memory: 3<<30 + 1},
		Command: []string{"saot", "sweep", "/etc/saot/spec-1.yaml", "--out", "/saot/$(runs)"}}
}

func manifestOptions() KubernetesOptions {
	return KubernetesOptions{Image: "lab/saot:1", Claim: "lab", Mount: "/saot/", Namespace: "graphs",
		Specs: []FrozenSpec{{File: "spec-1.yaml", Text: []byte("about: \"a\tb\"  \r\n\n  # é: |\nruns: []\n\n")}}}
}

func TestKubernetesManifest(t *testing.T) {
	text, err := KubernetesManifest(manifestJob(), manifestOptions())
	require.NoError(t, err)
	committed(t, "kubernetes/job.yaml", text)
	again, err := KubernetesManifest(manifestJob(), manifestOptions())
	require.NoError(t, err)
	require.Equal(t, text, again)
}

// documents reads YAML as JSON schemas want it.
func documents(t *testing.T, text []byte) (all []map[string]any) {
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		data, err := json.Marshal(doc)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		all = append(all, value.(map[string]any))
	}
}

// at returns what lies on a path of keys and indices.
func at(value any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			value = value.(map[string]any)[p]
		case int:
			value = value.([]any)[p]
		}
	}
	return value
}

// The schema is that of Kubernetes 1.33; testdata/kubernetes/schema.json says what was taken of it.
func TestManifestFitsTheSchemaOfKubernetes(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/kubernetes/schema.json")
	require.NoError(t, err)
	bare := manifestOptions()
	bare.Namespace = ""
	for _, c := range []struct {
		job     Job
		options KubernetesOptions
	}{
		{manifestJob(), manifestOptions()},
		{Job{Name: "x", Numbers: []int{0}, Command: []string{"saot"}}, bare},
	} {
		text, err := KubernetesManifest(c.job, c.options)
		require.NoError(t, err)
		docs := documents(t, text)
		require.Len(t, docs, 2)
		for _, doc := range docs {
			require.NoError(t, schema.Validate(doc))
		}
		require.Equal(t, string(c.options.Specs[0].Text), at(docs[0], "data", "spec-1.yaml"))
		require.Equal(t, at(docs[0], "metadata", "name"), at(docs[1], "spec", "template", "spec", "volumes", 0,
			"configMap", "name"))

		// And the schema finds faults.
		job := docs[1]
		at(job, "spec").(map[string]any)["completion"] = 3
		require.ErrorContains(t, schema.Validate(job), "'completion'")
		delete(at(job, "spec").(map[string]any), "completion")
		at(job, "spec").(map[string]any)["completions"] = "3"
		require.ErrorContains(t, schema.Validate(job), "want integer")
	}
}

// A Job cannot be changed, so that one that differs has another name.
func TestManifestsThatDifferHaveNamesThatDiffer(t *testing.T) {
	name := func(j Job, o KubernetesOptions) any {
		text, err := KubernetesManifest(j, o)
		require.NoError(t, err)
		return at(documents(t, text)[1], "metadata", "name")
	}
	first := name(manifestJob(), manifestOptions())
	require.Regexp(t, `^saot-table-2-[0-9a-f]{8}$`, first)
	fewer, image := manifestJob(), manifestOptions()
	fewer.Numbers = fewer.Numbers[1:]
	image.Image = "lab/saot:2"
	require.NotEqual(t, first, name(fewer, manifestOptions()))
	require.NotEqual(t, first, name(manifestJob(), image))
}

// Kubernetes reads $$ as $ and $(NAME) as a variable: the pod gets the words of the command as they are.
func TestPodCommandKeepsDollars(t *testing.T) {
	j := Job{Command: []string{"saot", "/a$$b", "/$(runs)", "/$$(x)$"}, Numbers: []int{0}}
	require.Equal(t, []string{"saot", "/a$$$$b", "/$$(runs)", "/$$$$(x)$$", "--only", "0", "--index",
		"$(JOB_COMPLETION_INDEX)"}, podCommand(j))
}

func TestManifestWants(t *testing.T) {
	for _, c := range []struct {
		change func(*KubernetesOptions)
		word   string
	}{
		{func(o *KubernetesOptions) { o.Image = "" }, "image"},
		{func(o *KubernetesOptions) { o.Claim = "" }, "claim"},
		{func(o *KubernetesOptions) { o.Mount = "saot" }, "absolute"},
		{func(o *KubernetesOptions) { o.Mount = "/" }, "other than /"},
		{func(o *KubernetesOptions) { o.Specs = nil }, "spec"},
	} {
		o := manifestOptions()
		c.change(&o)
		_, err := KubernetesManifest(manifestJob(), o)
		require.ErrorContains(t, err, c.word)
	}
}
