//go:build e2e

package etcd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/pkg/bundle/bundletest"
)

// TestTokenLeavesNoTrace types the bearer token of a person into every command,
// as --token, and searches for it in everything that viewers of the namespace read.
func TestTokenLeavesNoTrace(t *testing.T) {
	s := newScene(t, "token", "my-db")
	s.as("jane", "edit")
	config, err := clientcmd.LoadFromFile(filepath.Join(s.home, "jane.kubeconfig"))
	s.ok(err)
	var token string
	for _, user := range config.AuthInfos {
		token, user.Token = user.Token, ""
	}
	if token == "" {
		t.Fatal("the test's user has no token")
	}
	bare := filepath.Join(s.home, "bare.kubeconfig")
	s.ok(clientcmd.WriteToFile(*config, bare))
	jane := s.site.CLI(s.home, map[string]string{"KUBECONFIG": bare, "DBOP_REPOSITORY": "dir:" + s.backups})
	archive := filepath.Join(s.home, "bundle.tar.gz")
	texts := map[string]string{}
	for _, step := range []struct {
		code int
		args []string
	}{
		{0, []string{"create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", storage}},
		{0, []string{"backup", "my-db"}},
		{4, []string{"scale", "my-db", "--members", "9"}},
		{0, []string{"restart", "my-db", "--allow-downtime"}},
		{124, []string{"scale", "my-db", "--members", "3", "--timeout", "2s"}},
		{0, []string{"history", "my-db", "-o", "yaml"}},
		{0, []string{"support-bundle", "my-db", "--file", archive}},
	} {
		r := s.with(jane, append([]string{"--token=" + token}, step.args...)...)
		if r.Code != step.code {
			t.Errorf("expected exit code %d:\n%s", step.code, strings.ReplaceAll(r.String(), token, "TOKEN"))
		}
		texts[strings.Join(step.args, " ")] = r.Stdout + r.Stderr
	}
	for name, text := range bundletest.Read(t, archive) {
		texts["bundle: "+name] = text
	}
	for _, kind := range []string{"configmaps", "events", "leases", "pods", "statefulsets", "services",
		"persistentvolumeclaims", "secrets"} {
		r := s.kubectl("get", kind, "-o", "yaml", "--show-managed-fields")
		texts[kind] = r.Stdout
	}
	s.record(texts["history my-db -o yaml"])
	for where, text := range texts {
		if strings.Contains(text, token) || strings.Contains(text, "--token") {
			t.Errorf("the token is in: %s", where)
		}
	}
}

// record asks that the records tell how each operation was asked for.
func (s *scene) record(history string) {
	s.Helper()
	for _, want := range []string{"kubectl dbop create my-db --engine etcd", "kubectl dbop backup my-db"} {
		if !slices.ContainsFunc(strings.Split(history, "\n"),
			func(line string) bool { return strings.Contains(line, want) }) {
			s.Errorf("no record says %q:\n%s", want, history)
		}
	}
}
