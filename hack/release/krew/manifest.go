// Package krew renders the plugin's manifest from a release and judges
// manifests by the rules of the krew index, so that nobody learns of a broken
// one from a reviewer.
package krew

import (
	"bytes"
	"fmt"
	"text/template"

	"sigs.k8s.io/yaml"
)

// The only values that the index takes.
const (
	APIVersion = "krew.googlecontainertools.github.com/v1alpha2"
	Kind       = "Plugin"
)

// Manifest is a plugin as the krew index stores it.
type Manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names the plugin.
type Metadata struct {
	Name string `json:"name"`
}

// Spec describes the plugin.
type Spec struct {
	Version          string     `json:"version"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description,omitempty"`
	Caveats          string     `json:"caveats,omitempty"`
	Homepage         string     `json:"homepage,omitempty"`
	Platforms        []Platform `json:"platforms"`
}

// Platform is one archive and what krew takes out of it.
type Platform struct {
	Selector *Selector `json:"selector,omitempty"`
	URI      string    `json:"uri"`
	SHA256   string    `json:"sha256"`
	// Bin is the program's path below the place of installation.
	Bin   string `json:"bin"`
	Files []File `json:"files,omitempty"`
}

// Selector says where a platform holds.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Expression      `json:"matchExpressions,omitempty"`
}

// Expression is one condition of a selector; In and NotIn take values.
type Expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// File is copied from the archive to the place of installation.
type File struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Parse reads a manifest and refuses fields that the index does not know.
func Parse(raw []byte) (Manifest, error) {
	var m Manifest
	if err := yaml.UnmarshalStrict(raw, &m); err != nil {
		return Manifest{}, fmt.Errorf("read the krew manifest: %w", err)
	}
	return m, nil
}

// Archive is one file of a release.
type Archive struct {
	OS, Arch, Name, SHA256 string
}

// Bin is the program's name in the archive.
func (a Archive) Bin() string {
	if a.OS == "windows" {
		return "kubectl-dbop.exe"
	}
	return "kubectl-dbop"
}

// Release is what a manifest is rendered from.
type Release struct {
	// Version with its leading v.
	Version string
	// Base is the address below which the archives lie.
	Base     string
	Archives []Archive
}

// Render fills a template of a manifest with a release. A field that the
// template asks for and the release lacks is an error.
func Render(text string, r Release) ([]byte, error) {
	t, err := template.New("krew").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template of the krew manifest: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("render the krew manifest: %w", err)
	}
	return out.Bytes(), nil
}
