package cgroup

import (
	"strings"
	"testing"
)

const (
	hybrid = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	unified = `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
31 27 0:26 / /mnt/elsewhere rw - cgroup2 cgroup2 rw
`
)

func TestTracker(t *testing.T) {
	legacy := strings.Join(strings.Split(hybrid, "\n")[:4], "\n")
	for name, test := range map[string]struct {
		mountinfo string
		count     int
		want      string
	}{
		"hybrid":    {hybrid, 3, "/sys/fs/cgroup/unified"},
		"version 2": {unified, 1, "/sys/fs/cgroup"},
		"version 1": {legacy, 2, "/sys/fs/cgroup/pids"},
		"neither":   {"", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := parseHierarchies(strings.NewReader(test.mountinfo))
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != test.count {
				t.Errorf("%d hierarchies %+v, want %d", len(all), all, test.count)
			}
			got, err := tracker(all)
			if got.path != test.want || (err == nil) != (test.want != "") {
				t.Errorf("tracker = %q, %v, want %q", got.path, err, test.want)
			}
		})
	}
}

func TestContainsKnowsStrangers(t *testing.T) {
	for _, pid := range []int{1, 1 << 30} {
		if Contains(pid) {
			t.Errorf("process %d is not one of the cluster's", pid)
		}
	}
}
