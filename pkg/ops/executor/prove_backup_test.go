package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// TestProveBackup: each level finds what it is for, and leaves a record in the repository and on the cluster.
func TestProveBackup(t *testing.T) {
	for name, c := range map[string]struct {
		level  repository.Level
		damage func(content []byte) []byte
		wrong  bool
	}{
		"present":                    {repository.LevelPresent, nil, false},
		"present, a byte is wrong":   {repository.LevelPresent, flip, false},
		"present, a byte is missing": {repository.LevelPresent, shorten, true},
		"intact":                     {repository.LevelIntact, nil, false},
		"intact, a byte is wrong":    {repository.LevelIntact, flip, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := plain(t)
			cluster := b.Cluster()
			repo := stored(b, func(m *repository.Manifest) {
				m.Namespace, m.Incarnation = cluster.Namespace, cluster.Status.Bootstrap.Token
			})
			if c.damage != nil {
				file := filepath.Join(strings.TrimPrefix(repo.URL(), "dir:"), backupID+".snapshot")
				content, err := os.ReadFile(file)
				b.Must(err)
				b.Must(os.WriteFile(file, c.damage(content), 0o600))
			}
			err := liveOf(b).ProveBackup(t.Context(), ops.State{Cluster: cluster}, repo,
				Proving{Backup: backupID, Level: c.level, By: "me"}, func(int64, int64) {})
			if errors.Is(err, repository.ErrDamaged) != c.wrong || !c.wrong && err != nil {
				t.Fatalf("error %v", err)
			}
			m, err := repo.Get(t.Context(), backupID)
			b.Must(err)
			noted := b.Cluster().Status.FailedProof
			if c.wrong {
				if m.Proof != "" || m.FailedProof == nil || m.FailedProof.By != "me" || m.FailedProof.Level != c.level ||
					m.FailedProof.Reason == "" || noted == nil || noted.Level != string(c.level) {
					t.Errorf("recorded %+v, noted %+v", m.FailedProof, noted)
				}
				return
			}
			if m.Proof != string(c.level) || m.ProvenAt.IsZero() || m.Verified != nil || m.FailedProof != nil || noted != nil {
				t.Errorf("recorded %+v, noted %+v", m, noted)
			}
		})
	}
}

func flip(content []byte) []byte {
	content[len(content)/2] ^= 1
	return content
}

func shorten(content []byte) []byte { return content[:len(content)-1] }
