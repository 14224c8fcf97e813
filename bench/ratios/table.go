package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// result is one benchmark: every unit with the values of its runs.
type result struct {
	name   string
	values map[string][]float64
}

// median returns the middle value of a unit, and whether it was measured.
func (r *result) median(unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[unit]))
	if len(values) == 0 {
		return 0, false
	}
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2, true
}

// spread returns how far the slowest run is from the fastest, in percent of the median.
func (r *result) spread(unit string) float64 {
	middle, _ := r.median(unit)
	values := r.values[unit]
	if len(values) == 0 || middle == 0 {
		return 0
	}
	return 100 * (slices.Max(values) - slices.Min(values)) / middle
}

// parse reads the output of go test -bench.
func parse(output string) []*result {
	var results []*result
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		found := find(results, name)
		if found == nil {
			found = &result{name: name, values: map[string][]float64{}}
			results = append(results, found)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found.values[fields[i+1]] = append(found.values[fields[i+1]], value)
			}
		}
	}
	return results
}

func find(results []*result, name string) *result {
	for _, result := range results {
		if result.name == name {
			return result
		}
	}
	return nil
}

// firstLines returns what go test says about the machine.
func firstLines(output string) string {
	var about []string
	for line := range strings.Lines(output) {
		for _, name := range []string{"goos: ", "goarch: ", "cpu: "} {
			if text, found := strings.CutPrefix(strings.TrimSpace(line), name); found && len(about) < 3 {
				about = append(about, text)
			}
		}
	}
	return strings.Join(about, ", ")
}

func tableOf(results []*result, about string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians; %s.\n", about)
	for _, at := range []string{"memory", "loopback"} {
		writePosts(&b, results, at)
	}
	b.WriteString("\n| benchmark | ns/op | spread | B/op | allocs/op | other |\n| --- | --: | --: | --: | --: | --- |\n")
	for _, result := range results {
		if strings.HasPrefix(result.name, "Post/") || strings.HasPrefix(result.name, "Pair/") {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | ± %.0f %% | %s | %s | %s |\n", result.name, number(result, "ns/op"), result.spread("ns/op")/2,
			number(result, "B/op"), number(result, "allocs/op"), further(result))
	}
	return b.String()
}

// writePosts writes the clients beside bare net/http.
func writePosts(b *strings.Builder, results []*result, at string) {
	bare := find(results, "Post/"+at+"/net-http")
	if bare == nil {
		return
	}
	fmt.Fprintf(b, "\n| one write, %s | ns/op | spread | times bare, in pairs | B/op | over bare | allocs/op | over bare |\n"+
		"| --- | --: | --: | --: | --: | --: | --: | --: |\n", at)
	for _, result := range results {
		name, found := strings.CutPrefix(result.name, "Post/"+at+"/")
		if !found {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | ± %.0f %% | %s | %s | %+.0f | %s | %+.0f |\n", name, number(result, "ns/op"), result.spread("ns/op")/2,
			timesBare(results, at+"/"+name), number(result, "B/op"), difference(result, bare, "B/op"), number(result, "allocs/op"),
			difference(result, bare, "allocs/op"))
	}
}

func number(r *result, unit string) string {
	value, found := r.median(unit)
	if !found {
		return ""
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}

// timesBare is the ratio of the pairs, with how far its runs are apart.
func timesBare(results []*result, name string) string {
	pair := find(results, "Pair/"+name)
	if pair == nil {
		return ""
	}
	value, _ := pair.median("x-bare")
	return fmt.Sprintf("%.2f ± %.0f %%", value, pair.spread("x-bare")/2)
}

func difference(r, bare *result, unit string) float64 {
	value, _ := r.median(unit)
	base, _ := bare.median(unit)
	return value - base
}

// further prints the metrics that are none of the usual ones.
func further(r *result) string {
	var texts []string
	for unit := range r.values {
		switch unit {
		case "ns/op", "B/op", "allocs/op":
		default:
			texts = append(texts, number(r, unit)+" "+unit)
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
