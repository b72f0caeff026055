// Command compare compares the reports of test suites with the tables of a page.
//
//	compare <page> <suite>.json …
//
// A report is the JSON report of ginkgo. The page has a row `| suite | passed | failed |` for each suite, and a row
// `| suite | test | reason |` for each test that fails.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type report struct {
	SpecReports []spec
}

type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

// result is how a suite ended: the number of tests that passed, and the messages of those that failed.
type result struct {
	passed int
	failed map[string]string
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: compare <page> <suite>.json …")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(page string, reports []string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	expected, err := read(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	var differences []error
	for _, path := range reports {
		suite := strings.TrimSuffix(filepath.Base(path), ".json")
		found, err := load(path)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d passed, %d failed\n", suite, found.passed, len(found.failed))
		known, listed := expected[suite]
		if !listed {
			return fmt.Errorf("%s has no row of the suite %s", page, suite)
		}
		differences = append(differences, compare(suite, known, found)...)
	}
	return errors.Join(differences...)
}

// compare returns what differs, one error for each test.
func compare(suite string, known, found result) []error {
	var differences []error
	for name, message := range found.failed {
		if _, listed := known.failed[name]; !listed {
			differences = append(differences, fmt.Errorf("%s: fails now: %s\n%s", suite, name, message))
		}
	}
	for name := range known.failed {
		if _, fails := found.failed[name]; !fails {
			differences = append(differences, fmt.Errorf("%s: passes now, take its row out: %s", suite, name))
		}
	}
	if len(differences) == 0 && found.passed != known.passed {
		differences = append(differences, fmt.Errorf("%s: %d tests passed, and its row says %d", suite, found.passed, known.passed))
	}
	return differences
}

// read returns the results that the page lists, by suite.
func read(page string) (map[string]result, error) {
	results := map[string]result{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		suite := cells[0]
		if passed, err := strconv.Atoi(cells[1]); err == nil {
			results[suite] = result{passed, map[string]string{}}
		} else if known, listed := results[suite]; listed {
			if cells[2] == "" {
				return nil, fmt.Errorf("the test %q has no reason", cells[1])
			}
			known.failed[cells[1]] = cells[2]
		}
	}
	return results, nil
}

func load(path string) (result, error) {
	found := result{failed: map[string]string{}}
	content, err := os.ReadFile(path)
	if err != nil {
		return found, err
	}
	var reports []report
	if err := json.Unmarshal(content, &reports); err != nil {
		return found, fmt.Errorf("%s: %w", path, err)
	}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			switch spec.State {
			case "passed":
				if spec.LeafNodeType == "It" {
					found.passed++
				}
			case "pending", "skipped":
			default:
				if spec.LeafNodeType != "It" {
					name = strings.TrimSpace(spec.LeafNodeType + " " + name)
				}
				found.failed[name] = spec.Failure.Message
			}
		}
	}
	return found, nil
}
