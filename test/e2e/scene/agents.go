//go:build e2e

package scene

import (
	"slices"
	"strings"
	"time"
)

// AgentsFrom asks that each of so many members runs an agent of an image.
func (s *Scene) AgentsFrom(image string, members int) {
	s.Helper()
	got := s.agents()
	if len(got) != members || slices.ContainsFunc(got, func(of string) bool { return of != image }) {
		s.Errorf("members run agents of %q, and all are to run that of %s", got, image)
	}
	if r := s.Must("status", "db"); strings.Contains(r.Stdout, "Agents:") || strings.Contains(r.Stdout, "Rendered") {
		s.Errorf("status tells of agents that are not as wanted:\n%s", r.Stdout)
	}
}

// agents are the images that the agents of all members came from.
func (s *Scene) agents() []string {
	s.Helper()
	return strings.Fields(s.query("pods", "-l", "dbop.dev/member", "{.items[*].spec.initContainers[0].image}"))
}

// RenewsAgents gives so many members the agent of another image while a client writes. The plan says so, the leader
// moves once, and a repeat changes nothing.
func (s *Scene) RenewsAgents(w *Writer, members int) {
	s.Helper()
	image := s.Site.NewerImage
	if image == "" {
		s.Log("DBOP_NEWER_IMAGE names no second image: agents stay as they are")
		return
	}
	before := s.Site.Env["DBOP_HELPER_IMAGE"]
	s.AgentsFrom(before, members)
	change := []string{"configure", "db", "--helper-image", image}
	r := s.Must(append([]string{"plan"}, change...)...)
	if n := strings.Count(r.Stdout, "with the agent of "+image); n != members {
		s.Errorf("the plan restarts %d members:\n%s", n, r.Stdout)
	}
	began := time.Now()
	s.Must(change...)
	w.MustGoOn("the agents came from another image", began)
	s.AgentsFrom(image, members)
	if r := s.Must(change...); !strings.Contains(r.Stdout, "unchanged") {
		s.Errorf("a repeat changes something:\n%s", r.Stdout)
	}
	s.Logf("other agents: %s in all", time.Since(began).Round(time.Second))
}
