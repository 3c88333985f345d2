package spdx

import (
	"debug/buildinfo"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	program := &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/dbop-dev/kubectl-dbop",
		Version: "(devel)"}, Deps: []*debug.Module{
		{Path: "github.com/Azure/go-ansiterm", Version: "v0.1.0", Sum: "h1:abc="},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new",
			Version: "v1.1.0+incompatible", Sum: "h1:def="}},
	}}
	of := Subject{Name: "a.tar.gz", SHA256: strings.Repeat("a0", 32), Version: "v1.2.3", Created: time.Date(2026, 11, 22,
		3, 0, 0, 0, time.FixedZone("", 3600))}
	raw, err := Describe(of, program).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"spdxVersion": "SPDX-2.3"`, `"dataLicense": "CC0-1.0"`, `"SPDXID": "SPDXRef-DOCUMENT"`,
		`"created": "2026-11-22T02:00:00Z"`,
		`"pkg:golang/github.com/dbop-dev/kubectl-dbop@v1.2.3"`, `"pkg:golang/stdlib@1.26.8"`,
		`"https://proxy.golang.org/github.com/!azure/go-ansiterm/@v/v0.1.0.zip"`, `"pkg:golang/example.com/new@v1.1.0%2Bincompatible"`, `"go.sum h1:def="`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(string(raw), "example.com/old") {
		t.Error("names a module that is not linked")
	}
	checkReferences(t, raw)
}

// checkReferences: every element that a relationship names is there, by an identifier that SPDX allows.
func checkReferences(t *testing.T, raw []byte) {
	t.Helper()
	var d Document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{d.ID: true}
	for _, p := range d.Packages {
		if known[p.ID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.ID) {
			t.Errorf("identifier %q", p.ID)
		}
		known[p.ID] = true
	}
	for _, r := range d.Relationships {
		if !known[r.Element] || !known[r.Related] {
			t.Errorf("%+v leads nowhere", r)
		}
	}
	if len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d relationships of %d packages", len(d.Relationships), len(d.Packages))
	}
}
