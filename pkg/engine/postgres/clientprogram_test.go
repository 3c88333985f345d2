package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestInPod(t *testing.T) {
	t.Parallel()
	amy := engine.User{Name: "amy", Grants: []engine.Grant{{Prefix: "sales"}}}
	for name, test := range map[string]struct {
		as   engine.ClientLogin
		want string
	}{
		"the administrator": {engine.ClientLogin{}, "--username=dbop --dbname=postgres -c x"},
		"in a database":     {engine.ClientLogin{Database: "shop"}, "--username=dbop --dbname=shop -c x"},
		"a user":            {engine.ClientLogin{User: amy}, "--username=amy --dbname=sales -c x"},
		"root": {engine.ClientLogin{User: engine.User{Name: "root", Admin: true}},
			"--username=root --dbname=postgres -c x"},
		"a user in another database": {engine.ClientLogin{User: amy, Database: "shop"},
			"--username=amy --dbname=shop -c x"},
	} {
		got := strings.Join(New().InPod(nil, test.as, []string{"-c", "x"}), " ")
		if diff := cmp.Diff("psql --host=/run/dbop/sockets "+test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestInPodTakesThePassword: psql finds the password in its environment, and the file is gone.
func TestInPodTakesThePassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "connect.1")
	for path, content := range map[string]string{
		filepath.Join(dir, "psql"): "#!/bin/sh\necho \"$PGPASSWORD $*\"\n", file: `it's "$secret"`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	argv := New().InPod(nil, engine.ClientLogin{User: engine.User{Name: "amy"}, PasswordFile: file}, []string{"-c", "a b"})
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	want := `it's "$secret" --host=/run/dbop/sockets --username=amy --dbname=app -c a b` + "\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
}
