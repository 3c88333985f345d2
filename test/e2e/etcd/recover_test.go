//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// atOnce deletes without grace, as a lost machine does.
func atOnce() metav1.DeleteOptions {
	zero, background := int64(0), metav1.DeletePropagationBackground
	return metav1.DeleteOptions{GracePeriodSeconds: &zero, PropagationPolicy: &background}
}

// shortly deletes with the least grace. The object stays until the containers ended: after a deletion without grace,
// members go on and vote without their pods for some seconds.
func shortly() metav1.DeleteOptions {
	second := int64(1)
	return metav1.DeleteOptions{GracePeriodSeconds: &second}
}

// lose takes the volumes of members for good, and their pods with them.
func (s *scene) lose(members ...string) {
	s.Helper()
	core := s.site.Client.CoreV1()
	for _, m := range members {
		s.ok(core.PersistentVolumeClaims(s.ns).Delete(s.ctx, m, metav1.DeleteOptions{}))
	}
	for _, m := range members {
		s.ok(core.Pods(s.ns).Delete(s.ctx, m+"-0", shortly()))
	}
	for _, m := range members {
		s.ok(harness.Until(s.ctx, podWithin, "the volume of "+m+" to be gone", func(ctx context.Context) error {
			_, err := core.PersistentVolumeClaims(s.ns).Get(ctx, m, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is still there"), err)
		}))
	}
}

// loseMajority loses the volumes of the first two of three members.
func (s *scene) loseMajority(name string) {
	s.Helper()
	s.healthy(name, 3)
	s.lose(s.members(name)[:2]...)
	s.ok(harness.Until(s.ctx, time.Minute, "the majority to be lost", func(context.Context) error {
		// The leader that is left leads on for an election timeout.
		if r := s.try("status", name); r.Code != 11 {
			return fmt.Errorf("it still serves: exit code %d", r.Code)
		}
		return nil
	}))
}

// tells searches for words in all that a command said, to people and to programs.
func (s *scene) tells(r harness.Result, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(r.Stdout+r.Stderr, w) {
			s.Errorf("%q is missing:\n%s", w, r)
		}
	}
}

// members are the names of those that status lists.
func (s *scene) members(name string) []string {
	s.Helper()
	var out []string
	for _, m := range s.status(name).Members {
		out = append(out, m.Name)
	}
	return out
}

// volumeIdentity tells one volume from a later one of its name.
func (s *scene) volumeIdentity(member string) string {
	s.Helper()
	v, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, member, metav1.GetOptions{})
	s.ok(err)
	return string(v.UID)
}

// dataFile is where a member's data file is on this machine, which has all nodes.
func (s *scene) dataFile(member string) string {
	s.Helper()
	claim, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, member, metav1.GetOptions{})
	s.ok(err)
	volume, err := s.site.Client.CoreV1().PersistentVolumes().Get(s.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	s.ok(err)
	if volume.Spec.Local == nil {
		s.Skip("the volume is no directory of this machine")
	}
	return filepath.Join(volume.Spec.Local.Path, "data", "member", "snap", "db")
}

// TestRecoverWithoutNeed: with a quorum it changes nothing; with one volume
// lost it says what does help.
func TestRecoverWithoutNeed(t *testing.T) {
	s := newScene(t, "recover-well", "my-db")
	s.create("my-db", "3.6", "3")
	s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", s.still))
	before := s.snapshot()
	s.tells(s.must("recover", "my-db"), "nothing to recover from", "unchanged")
	s.same(before)
	s.lose("my-db-2")
	s.tells(s.must("recover", "my-db"), "nothing to recover from", "my-db-2: volume gone")
	s.says(s.try("diagnose", "my-db"), "member replace my-db my-db-2")
}

// TestRecoverBringsBack deletes all workloads and pods, and keeps the volumes.
func TestRecoverBringsBack(t *testing.T) {
	s := newScene(t, "recover-pods", "my-db")
	s.create("my-db", "3.6", "3")
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "kept/", 500, 64))
	volumes := s.volumes("my-db")
	for _, m := range s.members("my-db") {
		s.ok(s.site.Client.AppsV1().StatefulSets(s.ns).Delete(s.ctx, m, atOnce()))
	}
	s.ok(harness.Until(s.ctx, podWithin, "all pods to be gone", func(ctx context.Context) error {
		pods, err := s.site.Client.CoreV1().Pods(s.ns).List(ctx,
			metav1.ListOptions{LabelSelector: "dbop.dev/cluster=my-db"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d are left", len(pods.Items))
		}
		return err
	}))
	s.says(s.try("diagnose", "my-db"), "transient", " recover my-db")
	s.refused(4, []string{"transient", "bring-back"}, "recover", "my-db", "--method", "data", "--confirm", "my-db")
	s.refused(2, []string{"confirmation"}, "recover", "my-db")
	r := s.must("recover", "my-db", "--yes")
	s.tells(r, "3 of 3 volumes exist", "proposed: bring-back")
	s.healthy("my-db", 3)
	s.holdsBackup("my-db")
	s.settledVolumes("my-db", volumes)
	// Told to have no pods, which nobody remembers.
	for _, m := range s.members("my-db") {
		s.stop(m)
	}
	s.must("recover", "my-db", "--yes")
	s.healthy("my-db", 3)
	s.holdsBackup("my-db")
}

// TestRecoverFromData loses two of three volumes under a client that wrote
// until then, and begins again from the third.
func TestRecoverFromData(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.5", "3.6", "3.7"} {
		t.Run(version, func(t *testing.T) {
			s := newScene(t, "recover-data", "my-db")
			s.create("my-db", version, "3")
			db := s.dial("my-db")
			s.ok(harness.FillKeys(s.ctx, db, "kept/", 500, 64))
			w := harness.StartWriter(s.ctx, db, "load/", loadRate)
			time.Sleep(2 * time.Second) // of writing
			counts, acked := w.Stop(), w.AckedBefore()
			s.healthy("my-db", 3)
			members := s.members("my-db")
			survivor := members[2]
			volume := s.volumeIdentity(survivor)
			s.lose(members[0], members[1])
			s.ok(harness.Until(s.ctx, podWithin, "the quorum to be lost", func(context.Context) error {
				// The leader that is left leads on for an election timeout.
				r := s.try("diagnose", "my-db")
				if r.Code != 11 || !strings.Contains(r.Stdout, "permanent") || !strings.Contains(r.Stdout, " recover my-db") {
					return fmt.Errorf("diagnose:\n%s", r)
				}
				return nil
			}))
			s.refused(4, []string{"volumes exist"}, "recover", "my-db", "--method", "bring-back", "--yes")
			s.refused(2, []string{"--confirm my-db"}, "recover", "my-db", "--yes")
			began := time.Now()
			r := s.must("recover", "my-db", "--confirm", "my-db")
			took := time.Since(began)
			s.tells(r, "proposed: data", "examined: "+survivor, "(chosen)")
			s.healthy("my-db", 3)
			s.holdsBackup("my-db")
			missing, err := harness.MissingAcks(s.ctx, s.dial("my-db"), "load/", acked)
			s.ok(err)
			t.Logf("recovered in %s; %d of %d acknowledged writes lost", took.Round(100*time.Millisecond), len(missing),
				counts.Acked)
			if len(missing) > 0 {
				t.Errorf("the survivor had them: %s", missing[0])
			}
			if s.volumeIdentity(survivor) != volume || slices.Contains(s.members("my-db"), survivor) {
				t.Errorf("the volume of %s was not kept", survivor)
			}
			b, err := harness.LastBackup(s.backups)
			s.ok(err)
			s.says(s.must("backup", "describe", b.ID), "a copy of the volume of "+survivor)
			s.says(s.must("history", "my-db"), "recover")
		})
	}
}

// TestRecoverFromBackup loses all volumes; a second cluster has one left, of
// which a page is damaged.
func TestRecoverFromBackup(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*scene){
		"all lost": func(s *scene) { s.lose(s.members("my-db")...) },
		"the last is damaged": func(s *scene) {
			s.loseMajority("my-db")
			damage(s, s.dataFile("my-db-3"))
			r := s.try("recover", "my-db", "--confirm", "my-db")
			s.judge(r, 9, "no data that is left can be used", "--method backup")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "recover-backup", "my-db")
			s.create("my-db", "3.6", "3")
			s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
			s.must("backup", "my-db", "--verify")
			s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "late/", 10, 64))
			lose(s)
			began := time.Now()
			r := s.must("recover", "my-db", "--method", "backup", "--confirm", "my-db")
			t.Logf("recovered in %s", time.Since(began).Round(100*time.Millisecond))
			s.tells(r, "recovered")
			s.healthy("my-db", 3)
			s.holdsBackup("my-db")
			late, err := harness.ReadAll(s.ctx, s.dial("my-db"), "late/")
			s.ok(err)
			if len(late) > 0 {
				t.Errorf("%d keys are newer than the backup", len(late))
			}
		})
	}
}

// damage flips a bit in the head of every page but the first two, which describe the file.
func damage(s *scene, path string) {
	s.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	s.ok(err)
	defer func() { s.ok(f.Close()) }()
	info, err := f.Stat()
	s.ok(err)
	const page = 4096
	b := make([]byte, 1)
	for at := int64(2*page + 8); at < info.Size(); at += page {
		_, err := f.ReadAt(b, at)
		s.ok(err)
		b[0] ^= 1
		_, err = f.WriteAt(b, at)
		s.ok(err)
	}
}
