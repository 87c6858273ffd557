package experiment

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/saot-go/saot/datasets"
)

// Each seed may have its own split, or its own random order of classes. Deviations over seeds then include the effect
// of these, and two runs of one seed still have the same split.

// bySeed is the value of such a setting, in a Spec and in Group.Settings.
const bySeed = "seed"

// Names of the seeds in datasets.StreamOptions that may be those of the runs.
const (
	splitSeed = "split_seed"
	orderSeed = "order_seed"
)

// ownSeed returns the seed of that name in o, or nil.
func ownSeed(o *datasets.StreamOptions, name string) *uint64 {
	switch name {
	case splitSeed:
		return &o.SplitSeed
	case orderSeed:
		return &o.OrderSeed
	}
	return nil
}

// JoinBySeed returns the groups, with those joined whose runs differ only in their seed and in what is drawn from it:
// the split, the order of classes, or both. It joins the groups of a dataset only if every run drew these from its own
// seed, all runs of one seed have the same split, none took its split from a file, and there are at least two seeds.
func JoinBySeed(groups []*Group) (joined []*Group) {
	for _, of := range ByDataset(groups) {
		names := drawnBySeed(of)
		if len(names) == 0 {
			joined = append(joined, of...)
			continue
		}
		byKey := map[string]*Group{}
		for _, g := range of {
			own := *g
			own.drawn, own.Settings = names, maps.Clone(g.Settings)
			own.Settings["split"] = bySeed
			for _, name := range names {
				own.Settings[pathOf[name]] = bySeed
			}
			known := byKey[own.key()]
			if known == nil {
				known = &own
				known.Runs, known.Paths = maps.Clone(g.Runs), maps.Clone(g.Paths)
				byKey[own.key()] = known
				joined = append(joined, known)
				continue
			}
			maps.Copy(known.Runs, g.Runs)
			maps.Copy(known.Paths, g.Paths)
		}
	}
	labelGroups(joined)
	return joined
}

// pathOf has the paths of the seeds in a run's settings.
var pathOf = map[string]string{splitSeed: splitSeed, orderSeed: "stream." + orderSeed}

// drawnBySeed returns which seeds of the stream are each run's own; none where runs of one seed have several splits, or
// where there is one seed, of which this may be chance.
func drawnBySeed(groups []*Group) (names []string) {
	splits := map[uint64]string{}
	for _, g := range groups {
		for seed, r := range g.Runs {
			if known, ok := splits[seed]; ok && known != r.Dataset.SplitHash || g.SplitFile() {
				return nil
			}
			splits[seed] = r.Dataset.SplitHash
		}
	}
	if len(splits) == 1 {
		return nil
	}
	for _, name := range []string{splitSeed, orderSeed} {
		own := true
		for _, g := range groups {
			value, _ := strconv.ParseUint(g.Settings[pathOf[name]], 10, 64) // 0 is not recorded
			own = own && !slices.ContainsFunc(g.Seeds(), func(seed uint64) bool { return seed != value })
		}
		if own {
			names = append(names, name)
		}
	}
	return names
}

// drawnText says what each seed has of its own, after a comma.
func (g *Group) drawnText() string {
	if len(g.drawn) == 0 {
		return ""
	}
	return ", each seed with its own " + strings.NewReplacer(splitSeed, "split", orderSeed, "class order").Replace(
		strings.Join(g.drawn, " and "))
}

// setBySeed replaces the seeds of a Spec's stream that are each run's own.
func setBySeed(stream yaml.MapSlice, names []string) {
	for i := range stream {
		if name, ok := stream[i].Key.(string); ok && slices.Contains(names, name) {
			stream[i].Value = bySeed
		}
	}
}
