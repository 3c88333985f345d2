// Package spdx says in SPDX 2.3 what a program of ours is made of, as the
// program itself tells: the modules that the Go linker recorded in it.
package spdx

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Subject is the file that a document is about.
type Subject struct {
	// Name and SHA256 of the file, Version of the program in it.
	Name, SHA256, Version string
	// Created is the date of the commit, so that a repeat says the same.
	Created time.Time
}

// Document is an SPDX document; only the fields that are used here.
type Document struct {
	Version           string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []Package      `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is the program, a module in it, or the Go it was built with.
type Package struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo"`
	Supplier         string      `json:"supplier,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	CopyrightText    string      `json:"copyrightText"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	SourceInfo       string      `json:"sourceInfo,omitempty"`
	References       []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	programID  = "SPDXRef-Program"
	unasserted = "NOASSERTION"
)

// Describe makes the document of a program.
func Describe(of Subject, program *buildinfo.BuildInfo) Document {
	source := "https://" + program.Main.Path
	d := Document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: of.Name,
		DocumentNamespace: source + "/spdx/" + of.Name + "-" + of.SHA256,
		CreationInfo: creation{Created: of.Created.UTC().Format(time.RFC3339),
			Creators: []string{"Organization: dbop-dev", "Tool: kubectl-dbop-release"}},
		Packages: []Package{{
			ID: programID, Name: program.Main.Path, Version: of.Version, Supplier: "Organization: dbop-dev",
			DownloadLocation: source,
			LicenseConcluded: unasserted, LicenseDeclared: "Apache-2.0", CopyrightText: unasserted,
			Checksums:  []checksum{{"SHA256", of.SHA256}},
			References: purl("golang", program.Main.Path, of.Version),
		}},
		Relationships: []relationship{{documentID, "DESCRIBES", programID}},
	}
	add := func(p Package) {
		p.LicenseConcluded, p.LicenseDeclared, p.CopyrightText = unasserted, unasserted, unasserted
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relationship{programID, "DEPENDS_ON", p.ID})
	}
	add(Package{ID: "SPDXRef-Go", Name: "stdlib", Version: program.GoVersion, DownloadLocation: "https://go.dev/dl/",
		References: purl("golang", "stdlib", strings.TrimPrefix(program.GoVersion, "go"))})
	for i, m := range program.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(Package{ID: fmt.Sprintf("SPDXRef-Module-%d", i+1), Name: m.Path, Version: m.Version,
			DownloadLocation: "https://proxy.golang.org/" + escaped(m.Path) + "/@v/" + escaped(m.Version) + ".zip",
			SourceInfo:       "go.sum " + m.Sum, References: purl("golang", m.Path, m.Version)})
	}
	return d
}

// JSON is the document as it is published.
func (d Document) JSON() ([]byte, error) {
	raw, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the SBOM of %s: %w", d.Name, err)
	}
	return append(raw, '\n'), nil
}

func purl(kind, name, version string) []reference {
	return []reference{{"PACKAGE-MANAGER", "purl", "pkg:" + kind + "/" + name + "@" + url.QueryEscape(version)}}
}

// escaped spells capitals as module proxies do.
func escaped(s string) string {
	var out strings.Builder
	for _, r := range s {
		if 'A' <= r && r <= 'Z' {
			out.WriteByte('!')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
