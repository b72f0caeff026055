package main

import (
	"errors"
	"strings"
	"testing"
)

const page = `
| suite | passed | failed |
| --- | --- | --- |
| ` + "`cache`" + ` | 2 | 1 |

| suite | test | reason |
| --- | --- | --- |
| ` + "`cache`" + ` | does a thing | a reason |
`

func TestEachDifferenceIsNamed(t *testing.T) {
	known, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		passed   int
		failed   []string
		expected string
	}{
		{2, []string{"does a thing"}, ""},
		{1, []string{"does a thing"}, "1 tests passed, and its row says 2"},
		{3, nil, "passes now, take its row out: does a thing"},
		{1, []string{"does a thing", "another"}, "fails now: another"},
	} {
		found := result{test.passed, map[string]string{}}
		for _, name := range test.failed {
			found.failed[name] = ""
		}
		text := ""
		if err := errors.Join(compare("cache", known["cache"], found)...); err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, test.expected) || (test.expected == "") != (text == "") {
			t.Errorf("%v: %q", test, text)
		}
	}
}

func TestATestWithoutReasonIsRefused(t *testing.T) {
	if _, err := read(strings.Replace(page, "a reason", "", 1)); err == nil {
		t.Error("the page was accepted")
	}
}
