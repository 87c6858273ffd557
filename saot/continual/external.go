package continual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/saot-go/saot/internal/memory"
)

// External is a method of another program, such as one in PyTorch, given by the embeddings that the program left. It
// returns the embeddings of the first seen tasks, made by the encoder after it learned the last of them: a matrix for
// each task, with a row for each node of the task's graph, in memory that no other call uses. Run calls it once for
// each task, in order, and scores what it returns as it scores the embeddings of a Learner. The Result has neither
// times of training nor a peak of memory: they would not be the method's. Options.Keep and Options.Record are refused.
type External func(ctx context.Context, seen int) ([]*Embedding, error)

// Save writes nothing: what was learned is elsewhere.
func (External) Save(io.Writer) error { return nil }

// Load reads nothing.
func (External) Load(io.Reader) error { return nil }

// external is an External as a subject.
type external struct {
	External
	probed
}

func (s *external) learn(_ context.Context, t int, _ func(Step)) (*TaskReport, error) {
	return &TaskReport{Nodes: len(s.tasks[t].Labels)}, nil
}

func (s *external) watch(context.Context, int, []int32) (Watch, error) {
	return nil, errors.New("another program learned: there is nothing to watch")
}

func (s *external) rows(ctx context.Context, seen int, p *partial, e *Evaluation) ([]Row, [][]Fit, error) {
	start := time.Now()
	embed, err := s.External(ctx, seen)
	if err != nil {
		return nil, nil, err
	}
	if len(embed) != seen {
		return nil, nil, fmt.Errorf("there are embeddings of %d tasks, want those of the %d seen", len(embed), seen)
	}
	for j := range embed {
		if err := checkColumns(j, embed, len(s.tasks[j].Labels)); err != nil {
			return nil, nil, err
		}
	}
	e.EmbedSeconds = time.Since(start).Seconds()
	return s.score(ctx, embed, p, e)
}

// elsewhere reports whether another program learned.
func (r *run) elsewhere() bool {
	_, is := r.subject.(*external)
	return is
}

// peak is the process's largest memory, including what an engine's library allocates. It is 0 where the method ran in
// another program.
func (r *run) peak() int64 {
	if r.elsewhere() {
		return 0
	}
	return memory.Peak()
}
