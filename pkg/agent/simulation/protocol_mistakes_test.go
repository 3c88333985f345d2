package simulation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// change is a mistake in the source of the protocol itself.
type change struct{ name, file, from, to string }

func changes() []change {
	return []change{
		{"a seal ignores renewals that it did not see", "entry_lease.go", "case e.LeaseNumber != d.LeaseNumber:",
			"case false:"},
		{
			"the deadline counts from the agreement", "lease.go", "l.deadline = max(l.deadline, deadline)",
			"l.deadline = n.now.Add(e.Lease - n.doc.Settings.Timing.Stop) + 0*deadline",
		},
		{"the deadline leaves no time to stop", "lease.go", "n.now.Add(t.Lease - t.Stop)\n\tn.emit",
			"n.now.Add(t.Lease + t.Stop)\n\tn.emit"},
		{"the leader seals after half a lease", "leader.go", "n.now.Sub(n.leaseSeen) >= d.Lease",
			"n.now.Sub(n.leaseSeen) >= d.Lease/2"},
		{"a leader counts the lease from before its own start", "node.go", "leaseSeen: c.Now, sealSeen",
			"leaseSeen: c.Now - 1<<40, sealSeen"},
		{
			"a member reports while it streams", "member.go",
			"case n.server.Floor < d.Generation || n.server.Upstream != \"\" || n.server.Unread:",
			"case n.server.Floor > d.Generation:",
		},
		{"a member reports before it has read its log", "member.go", " || n.server.Unread:", ":"},
		{"missing reports are ignored", "choose.go", "if missing := incomplete(d); missing != \"\" {",
			"if missing := incomplete(d); false {"},
		{"the least is chosen", "choose.go", "return c > 0", "return c < 0"},
		{"one report fewer suffices", "choose.go", "r+set.Need <= len(set.Standbys)", "r+set.Need < len(set.Standbys)"},
		{"copies are known by the name of their member", "choose.go", "return ok && r.Volume == s.Volume", "return ok"},
		{"the offset comes before the timeline", "document.go",
			"cmp.Or(cmp.Compare(p.Timeline, q.Timeline), cmp.Compare(p.Offset, q.Offset))",
			"cmp.Compare(p.Offset, q.Offset)"},
		{"the former set is forgotten at once", "entry_set.go",
			"d.Sets, d.InForce = e.Set.Version, append(slices.Clone(d.InForce), e.Set)",
			"d.Sets, d.InForce = e.Set.Version, append(slices.Clone(d.InForce[:0]), e.Set)"},
		{"a set is settled before its standbys hold anything", "primary.go", "return have >= set.Need", "return have >= 0"},
		{"the set of the generation before is forgotten", "entry_lease.go",
			"d.Sets, d.InForce = e.Set.Version, append(slices.Clone(d.InForce), e.Set)",
			"d.Sets, d.InForce = e.Set.Version, []SyncSet{e.Set}"},
		{"a lease is released while the server runs", "primary.go",
			"if n.lease.reaped != d.Generation || n.server.Role == Primary {", "if false {"},
		{"an agent renews what it released", "lease.go", "|| l.released == d.Generation ||", "||"},
		{"a start of the agent renews the lease of another", "entry_lease.go",
			"case d.Phase == Serving && e.Process != d.Process:", "case false:"},
		{"a vote is given before the guard has a deadline", "leader.go", "case d.Phase != Serving || d.Bounded:",
			"default:"},
		{"every primary is taken for a sole voter", "document.go",
			"return len(d.Voters) == 1 && d.Voters[0] == d.Primary && d.OfferedVote == \"\"", "return true"},
		{"a primary acts before its lease is agreed", "primary.go",
			"l.promoted != d.Generation && l.valid(d.Generation, n.now) && n.free", "l.promoted != d.Generation && n.free"},
		{"timelines are counted from the reports alone", "choose.go",
			"max(d.Timeline, d.Published.Timeline, highest(d.Reports)) + 1", "highest(d.Reports) + 1"},
		{"a fast stop does not wait for the target", "primary.go",
			"n.received[d.Intent.Target].Position.Compare(n.server.Position) < 0", "false"},
		{"the next primary forgets what it follows", "node.go", "n.doc.Generation, n.doc.Settings, n.doc.Source",
			"n.doc.Generation, n.doc.Settings, nil"},
		{"a primary goes on when it is to follow", "entry_back.go", "n.doc.Source != nil && n.doc.Source.Kept", "false"},
		{"a primary follows on", "entry_source.go", "case s.Following && n.doc.Source == nil:", "case false:"},
		{"a leader takes its own vote", "leader.go", "case change.Take == n.id:", "case false:"},
		{"votes stay even", "votes.go", "case voters%2 == 0 || voters > target:", "case voters > target:"},
	}
}

// harmless are changes that the simulation can't notice, and why.
func harmless(name string) string {
	return map[string]string{
		"timelines are counted from the reports alone": "the document refuses such an appointment; TestLeaseEntries " +
			"shows it",
		"a fast stop does not wait for the target": "the planned target is not chosen then: it costs a " +
			"switchover, no write",
		"a start of the agent renews the lease of another": "the node asks for no such renewal; TestLeaseEntries shows " +
			"the refusal",
	}[name]
}

// TestProtocolMistakes makes one mistake at a time in the protocol; each must be noticed. Without DBOP_TORTURE=all it
// only checks that the list fits the source.
func TestProtocolMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "protocol", c.file))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), c.from); n != 1 {
				t.Fatalf("%s holds %q %d times, want once", c.file, c.from, n)
			}
			if !torture() {
				return
			}
			if why := harmless(c.name); why != "" {
				t.Skip(why)
			}
			changed, overlay := filepath.Join(t.TempDir(), c.file), filepath.Join(t.TempDir(), "overlay.json")
			plan, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string]string{changed: strings.Replace(string(source), c.from, c.to, 1),
				overlay: string(plan)} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("go", "test", "-overlay", overlay, "-run", "TestWorlds", ".", "-worlds", "1500", "-first")
			cmd.Env = append(os.Environ(), "DBOP_TORTURE=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "seed ") {
				t.Fatalf("nobody noticed: %v\n%s", err, out)
			}
			line, _, _ := strings.Cut(string(out[strings.Index(string(out), "seed "):]), "\n")
			t.Log(line)
		})
	}
}
