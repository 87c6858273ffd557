package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// KubernetesSpecs is the folder of the specs in the containers.
const KubernetesSpecs = "/etc/saot"

// KubernetesOptions are what the manifest says beside the job.
type KubernetesOptions struct {
	Image string
	// a PersistentVolumeClaim with the folder of the sweep and the datasets, which many nodes may mount at once
	Claim     string
	Mount     string // where the containers find it, absolute
	Namespace string // "" leaves it to kubectl
	Specs     []FrozenSpec
}

// kubernetesRetries is how often a pod is made again for a run whose pod ended for a reason of its own, and
// kubernetesGrace how long a pod that is stopped may take.
const (
	kubernetesRetries = 3
	kubernetesGrace   = 60 * time.Second
)

// KubernetesManifest returns YAML of a ConfigMap with the specs and of an indexed Job whose pods do the runs, for
// kubectl apply, Kubernetes 1.29 or later. The command of the job is the containers'; it finds the specs in
// KubernetesSpecs. A pod that is preempted or loses its node is replaced and does not count; a run that failed, or a
// wrong command, is not tried again; what ended otherwise is, three times. A run that was begun goes on at its last
// finished task of the stream.
func KubernetesManifest(j Job, o KubernetesOptions) ([]byte, error) {
	if err := errors.Join(j.Validate(), o.validate()); err != nil {
		return nil, err
	}
	config := configMap{APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{}}
	for _, s := range o.Specs {
		config.Data[s.File] = string(s.Text)
	}
	job := o.job(j)
	// A Job cannot be changed: one for other runs, or with other settings, needs a name of its own.
	text, err := yaml.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("experiment: kubernetes: %w", err)
	}
	sum := sha256.Sum256(text)
	name := label(j.Name) + "-" + hex.EncodeToString(sum[:4])
	meta := metadata{Name: name, Namespace: o.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "saot"}}
	config.Metadata, job.Metadata = meta, meta
	job.Spec.Template.Spec.Volumes[0].ConfigMap.Name = name

	var b bytes.Buffer
	e := yaml.NewEncoder(&b, yaml.IndentSequence(false)) // literal blocks would lose \r and leading spaces of specs
	if err := errors.Join(e.Encode(config), e.Encode(job), e.Close()); err != nil {
		return nil, fmt.Errorf("experiment: kubernetes: %w", err)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

func (o *KubernetesOptions) validate() error {
	switch {
	case o.Image == "":
		return errors.New("experiment: kubernetes: no image: name a container image that has saot in it")
	case o.Claim == "":
		return errors.New("experiment: kubernetes: no claim: name a PersistentVolumeClaim for the folder of the sweep")
	case !path.IsAbs(o.Mount) || path.Clean(o.Mount) == "/":
		return fmt.Errorf("experiment: kubernetes: the mount is %q: want an absolute path, and not /", o.Mount)
	case len(o.Specs) == 0:
		return errors.New("experiment: kubernetes: no spec")
	}
	return nil
}

// job is the Job without names.
func (o *KubernetesOptions) job(j Job) job {
	runs := len(j.Numbers)
	spec := jobSpec{CompletionMode: "Indexed", Completions: runs, Parallelism: runs,
		BackoffLimitPerIndex: kubernetesRetries}
	if j.Workers > 0 {
		spec.Parallelism = min(runs, j.Workers)
	}
	spec.PodFailurePolicy.Rules = []failureRule{
		{Action: "Ignore", OnPodConditions: []podCondition{{Type: "DisruptionTarget", Status: "True"}}},
		{Action: "FailIndex", OnExitCodes: &exitCodes{ContainerName: "saot", Operator: "In", Values: []int{1, 2}}},
	}
	spec.Template.Spec = podSpec{
		RestartPolicy:                 "Never", // the Job makes the pods anew, by its policy
		TerminationGracePeriodSeconds: int(kubernetesGrace.Seconds()),
		ActiveDeadlineSeconds:         int(j.Time.Seconds()),
		Containers: []container{{
			Name: "saot", Image: o.Image, Command: podCommand(j), Resources: resourcesOf(j),
			VolumeMounts: []volumeMount{
				{Name: "specs", MountPath: KubernetesSpecs, ReadOnly: true},
				{Name: "runs", MountPath: path.Clean(o.Mount)}},
		}},
		Volumes: []volume{{Name: "specs", ConfigMap: &configMapVolume{}},
			{Name: "runs", Claim: &claimVolume{ClaimName: o.Claim}}},
	}
	return job{APIVersion: "batch/v1", Kind: "Job", Spec: spec}
}

// podCommand is the same in each pod: Kubernetes puts in the pod's index, and saot takes the number of that index from
// the list.
func podCommand(j Job) []string {
	var command []string
	for _, word := range j.Command {
		command = append(command, strings.ReplaceAll(word, "$(", "$$(")) // which Kubernetes would take for a variable
	}
	numbers := make([]string, len(j.Numbers))
	for i, n := range j.Numbers {
		numbers[i] = strconv.Itoa(n)
	}
	return append(command, "--only", strings.Join(numbers, ","), "--index", "$(JOB_COMPLETION_INDEX)")
}

func resourcesOf(j Job) (r resources) {
	r.Requests, r.Limits = map[string]string{}, map[string]string{}
	if j.CPUs > 0 {
		r.Requests["cpu"] = strconv.Itoa(j.CPUs)
	}
	if j.GPUs > 0 {
		r.Limits["nvidia.com/gpu"] = strconv.Itoa(j.GPUs)
	}
	if j.Memory > 0 {
		r.Requests["memory"] = fmt.Sprintf("%dMi", (j.Memory+1<<20-1)>>20)
		r.Limits["memory"] = r.Requests["memory"]
	}
	return r
}

// The objects of Kubernetes, as far as they are used here. The names and what they mean are those of its API reference,
// batch/v1.
type (
	configMap struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   metadata          `yaml:"metadata"`
		Data       map[string]string `yaml:"data"`
	}
	job struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata"`
		Spec       jobSpec  `yaml:"spec"`
	}
	metadata struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace,omitempty"`
		Labels    map[string]string `yaml:"labels"`
	}
	jobSpec struct {
		CompletionMode       string           `yaml:"completionMode"`
		Completions          int              `yaml:"completions"`
		Parallelism          int              `yaml:"parallelism"`
		BackoffLimitPerIndex int              `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy     podFailurePolicy `yaml:"podFailurePolicy"`
		Template             podTemplate      `yaml:"template"`
	}
	podFailurePolicy struct {
		Rules []failureRule `yaml:"rules"`
	}
	failureRule struct {
		Action          string         `yaml:"action"`
		OnPodConditions []podCondition `yaml:"onPodConditions,omitempty"`
		OnExitCodes     *exitCodes     `yaml:"onExitCodes,omitempty"`
	}
	podCondition struct {
		Type   string `yaml:"type"`
		Status string `yaml:"status"`
	}
	exitCodes struct {
		ContainerName string `yaml:"containerName"`
		Operator      string `yaml:"operator"`
		Values        []int  `yaml:"values"`
	}
	podTemplate struct {
		Spec podSpec `yaml:"spec"`
	}
	podSpec struct {
		RestartPolicy                 string      `yaml:"restartPolicy"`
		TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
		ActiveDeadlineSeconds         int         `yaml:"activeDeadlineSeconds,omitempty"`
		Containers                    []container `yaml:"containers"`
		Volumes                       []volume    `yaml:"volumes"`
	}
	container struct {
		Name         string        `yaml:"name"`
		Image        string        `yaml:"image"`
		Command      []string      `yaml:"command"`
		Resources    resources     `yaml:"resources,omitempty"`
		VolumeMounts []volumeMount `yaml:"volumeMounts"`
	}
	resources struct {
		Requests map[string]string `yaml:"requests,omitempty"`
		Limits   map[string]string `yaml:"limits,omitempty"`
	}
	volumeMount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly,omitempty"`
	}
	volume struct {
		Name      string           `yaml:"name"`
		ConfigMap *configMapVolume `yaml:"configMap,omitempty"`
		Claim     *claimVolume     `yaml:"persistentVolumeClaim,omitempty"`
	}
	configMapVolume struct {
		Name string `yaml:"name"`
	}
	claimVolume struct {
		ClaimName string `yaml:"claimName"`
	}
)
