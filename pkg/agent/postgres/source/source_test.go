package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestConfig: the password comes from the secret, and TLS that was asked for never gives way to plain text.
func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("it's \\ secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := Source{Source: protocol.Source{Address: "[::1]:6543"}, Secret: dir}
	c, err := plain.config("odd 'name")
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "::1" || c.Port != 6543 || c.User != "postgres" || c.Database != "odd 'name" ||
		c.Password != `it's \ secret` {
		t.Errorf("it connects to %s:%d as %s, to %q", c.Host, c.Port, c.User, c.Database)
	}
	encrypted := Source{Source: protocol.Source{Address: "there:1", User: "mover", TLS: true}, Secret: dir}
	if c, err = encrypted.config("a"); err != nil {
		t.Fatal(err)
	}
	if c.TLSConfig == nil || c.TLSConfig.InsecureSkipVerify || c.TLSConfig.ServerName != "there" || len(c.Fallbacks) > 0 ||
		c.User != "mover" {
		t.Errorf("it connects with %+v, and else with %v", c.TLSConfig, c.Fallbacks)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := encrypted.config("a"); err == nil {
		t.Error("an authority without a certificate is taken")
	}
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	got := []string{Keeper(nil), Keeper([]Database{{Name: "a"}}), Keeper([]Database{{Name: "a"}, {Name: "postgres"}})}
	if diff := cmp.Diff([]string{"postgres", "postgres", "template1"}, got); diff != "" {
		t.Error(diff)
	}
}
