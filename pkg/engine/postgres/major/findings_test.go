package major

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ words, want string }{
		"a check": {"Performing Consistency Checks\n---\nChecking cluster versions        ok\nChecking data type usage\n" +
			"failed check: Checking for aclitem\nA list of the problem columns is in the file:\n    /tmp/x.txt\n",
			"Checking data type usage failed check: Checking for aclitem"},
		"nothing passed": {"could not open /x\n", "could not open /x"},
	} {
		if got := verdict(c.words); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestFindings names what a check lists and what pg_restore stopped at, and nothing of logs without an error.
func TestFindings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	output := filepath.Join(data, "pg_upgrade_output.d", "20261124T215005.912")
	if err := os.MkdirAll(filepath.Join(output, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"loadable_libraries.txt": "could not load library\nIn database: app\n",
		"log/server.log":         "LOG:  database system is ready\n",
		"log/pg_upgrade_dump_5.log": "pg_restore: creating VIEW\npg_restore: from TOC entry 214; 1259 16384 VIEW odd dbop\n" +
			"pg_restore: error: could not execute query: ERROR:  column b does not exist\nCommand was: \nCREATE VIEW odd\n",
	} {
		if err := os.WriteFile(filepath.Join(output, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := "; loadable_libraries.txt: could not load library In database: app; pg_upgrade_dump_5.log: 214; 1259 16384 " +
		"VIEW odd dbop: could not execute query: ERROR: column b does not exist"
	if got := findings(data); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
