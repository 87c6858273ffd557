package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"
	"time"

	"github.com/saot-go/saot/internal/untrusted"
)

// KubernetesSpecs is the folder of the specs in the containers.
const KubernetesSpecs = "/etc/saot"

// KubernetesOptions are what the manifest says besides the job.
type KubernetesOptions struct {
	Image string
	// a PersistentVolumeClaim with the folder of the sweep and the datasets, which many nodes may mount at once
	Claim     string
	Mount     string // where the containers find it, absolute
	Namespace string // "" leaves it to kubectl
	Specs     []FrozenSpec
}

// kubernetesGroup is the group that may write to the claim: that of the user in the image of binder/Dockerfile.
const kubernetesGroup = 1000

// kubernetesRetries is how often, at most, a pod is made again for a run, not counting disruptions. kubernetesGrace is
// how long a pod may take to stop.
const (
	kubernetesRetries = 3
	kubernetesGrace   = 60 * time.Second
)

// KubernetesManifest returns YAML of a ConfigMap with the specs and of an indexed Job whose pods do the runs, for
// kubectl apply, Kubernetes 1.29 or later. The command of the job runs in the containers and finds the specs in
// KubernetesSpecs. A pod that is preempted or loses its node is replaced, which does not count as a retry. A run that
// failed, or a wrong command, is not tried again. A run whose pod ended for another reason is tried again, up to three
// times. A run that was begun continues after its last finished task of the stream.
func KubernetesManifest(j Job, o KubernetesOptions) ([]byte, error) {
	if err := errors.Join(j.Validate(), o.Validate()); err != nil {
		return nil, err
	}
	if len(o.Specs) == 0 {
		return nil, errors.New("experiment: kubernetes: no spec")
	}
	parallel := len(j.Numbers)
	if j.Workers > 0 {
		parallel = min(parallel, j.Workers)
	}
	fill := map[string]any{"Options": o, "Job": j, "Name": "", "Runs": len(j.Numbers), "Parallel": parallel,
		"Retries": kubernetesRetries, "Grace": int(kubernetesGrace.Seconds()), "Deadline": int(j.Time.Seconds()),
		"Command": podCommand(j), "Mount": path.Clean(o.Mount), "SpecFolder": KubernetesSpecs,
		"Group": kubernetesGroup, "Memory": ""}
	if j.Memory > 0 {
		fill["Memory"] = fmt.Sprintf("memory: %dMi", (j.Memory+1<<20-1)>>20)
	}
	var text bytes.Buffer
	if err := kubernetesTemplate.Execute(&text, fill); err != nil {
		return nil, fmt.Errorf("experiment: kubernetes: %w", err)
	}
	// A Job cannot be changed: one for other runs, or with other settings, needs a name of its own.
	sum := sha256.Sum256(text.Bytes())
	fill["Name"] = label(j.Name) + "-" + hex.EncodeToString(sum[:4])
	text.Reset()
	err := kubernetesTemplate.Execute(&text, fill)
	return text.Bytes(), err
}

// Validate returns an error where there is no image or no claim, and for a mount that is not absolute, or is /.
func (o *KubernetesOptions) Validate() error {
	switch {
	case o.Image == "":
		return errors.New("experiment: kubernetes: no image: name a container image that has saot in it with --image")
	case o.Claim == "":
		return errors.New("experiment: kubernetes: no claim: name a PersistentVolumeClaim for the folder of the " +
			"sweep with --claim")
	case !path.IsAbs(o.Mount) || path.Clean(o.Mount) == "/":
		return fmt.Errorf("experiment: kubernetes: the claim's mount is %q: want an absolute path other than /, as in "+
			"--claim lab:/saot", o.Mount)
	}
	return nil
}

// kubernetesTemplate writes text of others as JSON, which YAML reads as it is, whatever stands in it.
var kubernetesTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"json": func(v any) (string, error) {
		text, err := untrusted.YAML(v)
		return string(text), err
	},
	"text": func(b []byte) string { return string(b) },
}).Parse(`{{define "metadata"}}metadata:
  name: {{json .Name}}
{{- with .Options.Namespace}}
  namespace: {{json .}}{{end}}
  labels:
    app.kubernetes.io/name: saot{{end -}}

apiVersion: v1
kind: ConfigMap
{{template "metadata" .}}
data:
{{- range .Options.Specs}}
  {{json .File}}: {{json (text .Text)}}{{end}}
---
apiVersion: batch/v1
kind: Job
{{template "metadata" .}}
spec:
  completionMode: Indexed
  completions: {{.Runs}}
  parallelism: {{.Parallel}}
  backoffLimitPerIndex: {{.Retries}}
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget, status: "True"}]
    - action: FailIndex
      onExitCodes: {containerName: saot, operator: In, values: [1, 2]}
  template:
    spec:
      restartPolicy: Never # the Job makes pods again, by its policy
      securityContext: {fsGroup: {{.Group}}, fsGroupChangePolicy: OnRootMismatch}
      terminationGracePeriodSeconds: {{.Grace}}
{{- with .Deadline}}
      activeDeadlineSeconds: {{.}}{{end}}
      containers:
      - name: saot
        image: {{json .Options.Image}}
        command: {{json .Command}}
        resources:
          requests: { {{- with .Job.CPUs}}cpu: "{{.}}"{{end}}{{if and .Job.CPUs .Memory}}, {{end}}{{.Memory}}}
          limits: { {{- .Memory}}{{if and .Memory .Job.GPUs}}, {{end}}
{{- with .Job.GPUs}}nvidia.com/gpu: "{{.}}"{{end -}} }
        volumeMounts:
        - {name: specs, mountPath: {{.SpecFolder}}, readOnly: true}
        - {name: runs, mountPath: {{json .Mount}}}
      volumes:
      - {name: specs, configMap: {name: {{json .Name}}}}
      - {name: runs, persistentVolumeClaim: {claimName: {{json .Options.Claim}}}}
`))

// podCommand is the same in each pod: Kubernetes puts in the pod's index, and saot takes the number of that index from
// the list.
func podCommand(j Job) []string {
	var command []string
	for _, word := range j.Command {
		// Kubernetes reads $$ as $, and $(NAME) as a variable.
		command = append(command, strings.ReplaceAll(word, "$", "$$"))
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(j.Numbers), " ", ","), "[]")
	return append(command, "--only", numbers, "--index", "$(JOB_COMPLETION_INDEX)")
}
