// Command estimate compares what runs took with what the model behind saot sweep --dry-run says of them:
//
//	SAOT_DATA=… go run ./bench/estimate results/*.jsonl.gz results/tune/*.jsonl.gz
//
// It prints one row for all runs, one for each file of results and one for each method: how many runs there are, their
// total time and the model's, the ratios of a run's time to the model's (the median and the 95th percentile), how many
// took at least three times as long, the highest ratio of a run's peak of memory to the model's, and how many took at
// least as much. It is no part of saot.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all"
)

func main() {
	log.SetFlags(0)
	if err := compare(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func compare(files []string) error {
	of := map[string]*sums{}
	for _, file := range files {
		groups, err := experiment.Collect([]string{file})
		if err != nil {
			return err
		}
		var results []*continual.Result
		sweep := &experiment.Sweep{} // without a folder: the model alone
		for _, g := range groups {
			for _, seed := range g.Seeds() {
				r, run := g.Runs[seed], experiment.Run{}
				if err := json.Unmarshal(r.Config, &run.Settings); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				run.Data = os.Getenv("SAOT_DATA")
				results, sweep.Runs = append(results, r), append(sweep.Runs, run)
			}
		}
		for i, e := range sweep.Estimates() {
			if e.Seconds == 0 {
				return fmt.Errorf("%s: %s", file, e.Basis)
			}
			for _, key := range []string{" all", " " + filepath.Base(file), results[i].Method} {
				if of[key] == nil {
					of[key] = &sums{}
				}
				of[key].add(results[i], e)
			}
		}
	}
	return write(of)
}

// sums is of some runs.
type sums struct {
	took, model  float64
	times, peaks []float64 // ratios, of a run's to the model's
}

func (s *sums) add(r *continual.Result, e experiment.Estimate) {
	s.took, s.model = s.took+r.Seconds, s.model+e.Seconds
	s.times = append(s.times, r.Seconds/e.Seconds)
	s.peaks = append(s.peaks, float64(r.PeakBytes)/float64(e.Bytes)) // 0 where it was not measured
}

func write(of map[string]*sums) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	lines := "of\truns\ttook, h\tmodel, h\tmedian\t95 %\tabove 3\tmemory\tabove 1\t\n"
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := of[name]
		slices.Sort(s.times)
		slices.Sort(s.peaks)
		n := len(s.times)
		within, _ := slices.BinarySearch(s.times, 3)
		held, _ := slices.BinarySearch(s.peaks, 1)
		lines += fmt.Sprintf("%s\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t%d\t%.2f\t%d\t\n", name, n, s.took/3600,
			s.model/3600, s.times[n/2], s.times[min(n-1, n*95/100)], n-within, s.peaks[n-1], n-held)
	}
	if _, err := w.Write([]byte(lines)); err != nil {
		return err
	}
	return w.Flush()
}
