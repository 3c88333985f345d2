package agent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clocks are the programs of members whose clocks a test sets.
type clocks struct {
	// agent is the agent. Without DBOP_TORTURE=all and -all it is the usual one, whose clocks are those of the machine:
	// the other one takes a minute to build.
	agent string
	// library is loaded into the server, and has it read the clock.
	library string
	// boots says that the boot clock of guard and agent can be set as well.
	boots bool
}

// clockPrograms builds them, once.
var clockPrograms = sync.OnceValues(func() (*clocks, error) {
	return makeClocks("clocks", torture() || *allFlag, true)
})

// bootPrograms builds an agent whose boot clock alone can be set, once: that takes seconds.
var bootPrograms = sync.OnceValues(func() (*clocks, error) { return makeClocks("boots", true, false) })

func makeClocks(name string, boots, walls bool) (*clocks, error) {
	directory := filepath.Join(built, name)
	c := &clocks{agent: filepath.Join(built, "dbop-agent"), library: filepath.Join(directory, "clock.so")}
	if err := os.Mkdir(directory, 0o755); err != nil {
		return nil, err
	}
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", c.library, "testdata/clock/clock.c").CombinedOutput()
	if err != nil || !boots {
		return c, errors.Join(err, complaint(out))
	}
	c.agent, c.boots = filepath.Join(directory, "dbop-agent"), true
	return c, c.build(directory, walls)
}

func complaint(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	return errors.New(string(out))
}

// build makes an agent out of changed sources, with walls those of Go's own clock among them.
func (c *clocks) build(directory string, walls bool) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	wall := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	boot, err := filepath.Abs("../../pkg/agent/guard")
	if err != nil {
		return err
	}
	data, err := filepath.Abs("testdata/clock")
	if err != nil {
		return err
	}
	replace := map[string]string{filepath.Join(boot, "shift.go"): filepath.Join(data, "boot.go.txt")}
	changes := [][3]string{
		{filepath.Join(boot, "guard.go"), "protocol.Instant(t.Nano())", "protocol.Instant(t.Nano() + bootShift())"},
		{filepath.Join(boot, "alarm.go"), "unix.NsecToTimespec(int64(at))", "unix.NsecToTimespec(atReal(at))"},
	}
	if walls {
		now, goes := "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "\tsec += wallShift()\n"
		replace[filepath.Join(wall, "shift.go")] = filepath.Join(data, "wall.go.txt")
		changes = append(changes, [3]string{filepath.Join(wall, "time.go"), now, now + goes})
	}
	for _, change := range changes {
		source, err := os.ReadFile(change[0])
		if err != nil {
			return err
		}
		if strings.Count(string(source), change[1]) != 1 {
			return errors.New("its clock can't be changed: " + change[0])
		}
		replace[change[0]] = filepath.Join(directory, filepath.Base(change[0]))
		changed := strings.Replace(string(source), change[1], change[2], 1)
		if err := os.WriteFile(replace[change[0]], []byte(changed), 0o600); err != nil {
			return err
		}
	}
	plan, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(directory, "overlay.json")
	if err := os.WriteFile(overlay, plan, 0o600); err != nil {
		return err
	}
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", c.agent, "../../cmd/dbop-agent").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build an agent with other clocks: %w: %s", err, out)
	}
	return nil // what it says then is no complaint: with -v it names what it compiled
}

// clock is what the processes of a member take for the time.
type clock struct {
	*clocks
	path string
	// wall and boot are how much they are ahead.
	wall, boot time.Duration
}

func newClock(t *testing.T, path string, make func() (*clocks, error)) *clock {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("a C compiler is needed to change the clock of a server")
	}
	programs, err := make()
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{clocks: programs, path: path}
	c.set(t, 0, 0)
	return c
}

// set steps the clocks. Processes that run see it at once.
func (c *clock) set(t *testing.T, wall, boot time.Duration) {
	t.Helper()
	if err := c.write(wall, boot); err != nil {
		t.Fatal(err)
	}
}

func (c *clock) write(wall, boot time.Duration) error {
	c.wall, c.boot = wall, boot
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(binary.Write(f, binary.NativeEndian, []int64{int64(wall), int64(boot)}), f.Close())
}

// stand has the boot clock stand still, and returns what has it go on as if it never had.
func (c *clock) stand(t *testing.T) (end func()) {
	began, over, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
				if err := c.write(c.wall, -time.Since(began)); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	end = sync.OnceFunc(func() {
		close(over)
		<-done
		c.set(t, c.wall, 0)
	})
	t.Cleanup(end)
	return end
}

// environment has processes read the clock.
func (c *clock) environment() []string {
	return []string{"LD_PRELOAD=" + c.library, "DBOP_TEST_CLOCK=" + c.path}
}
