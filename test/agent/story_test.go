package agent

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

var (
	seedFlag    = flag.Uint64("seed", 1, "tell the story of this seed")
	storiesFlag = flag.Int("stories", 1, "how many stories of random troubles are told")
	slowFlag    = flag.Bool("slow", false, "use the default times")
	restFlag    = flag.Bool("rest", false, "measure agents at rest")
	allFlag     = flag.Bool("all", false, "make every trouble in each cluster")
	troubleFlag = flag.String("trouble", "", "make this trouble alone")
)

func torture() bool { return os.Getenv("DBOP_TORTURE") == "all" }

func begin(t *testing.T, o options, seed uint64) *story {
	t.Helper()
	s := &story{site: newSite(t, o), random: rand.New(rand.NewPCG(seed, 1))}
	took := s.wait("a primary", func() bool { return s.primary() != nil })
	if err := s.engine.prepare(s.awaitPrimary()); err != nil {
		t.Fatal(err)
	}
	s.clients = s.write()
	s.wait("all stream", s.whole)
	t.Logf("founded: a primary after %s", took.Truncate(10*time.Millisecond))
	return s
}

func (s *story) make(tr trouble) {
	s.t.Helper()
	began := time.Now()
	s.since = time.Since(s.clients.began)
	s.t.Logf("%s, of %s", tr.name, s.awaitPrimary().id)
	tr.do(s)
	s.wait("whole after: "+tr.name, s.whole)
	s.t.Logf("  whole after %s", time.Since(began).Truncate(10*time.Millisecond))
}

// TestStory makes one trouble after the other, in a random order. Of three clusters with different durability, each
// gets a third of the troubles, or all of them where DBOP_TORTURE is all.
func TestStory(t *testing.T) { tell(t, postgres{}, false) }

// TestStoryValkey does the same with Valkey or Redis.
func TestStoryValkey(t *testing.T) { tell(t, valkey{}, false) }

// TestStoryValkeyProxied does it with clients that go through the agents, and TLS.
func TestStoryValkeyProxied(t *testing.T) { tell(t, valkey{}, true) }

func tell(t *testing.T, e engine, proxied bool) {
	stories := *storiesFlag
	if torture() {
		stories = 100
	}
	for story := range stories {
		seed := *seedFlag + uint64(story)
		for i, d := range []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async} {
			t.Run(fmt.Sprintf("%s-%d", d, seed), func(t *testing.T) {
				t.Parallel()
				s := begin(t, options{durability: d, members: 3, slow: *slowFlag, engine: e, proxied: proxied}, seed)
				all := troubles()
				rand.New(rand.NewPCG(seed, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				for j, tr := range all {
					if *troubleFlag == tr.name || *troubleFlag == "" && (torture() || *allFlag || j%3 == i) {
						s.make(tr)
					}
				}
				s.clients.check(t)
			})
		}
	}
}
