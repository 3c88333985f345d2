package helpercmd

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhileKey: what signs for as long as its cluster runs takes another key once that is there.
func TestWhileKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "signing-key")
		put := func(content string) {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put("first")
		ctx, stop := whileKey(t.Context(), file, []byte("first"))
		defer stop()
		time.Sleep(time.Hour)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Fatal("it ended without another key")
		}
		put("second")
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took > keyEvery {
			t.Errorf("it ended after %s", took)
		}
	})
}
