package node

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestKubeletConfig(t *testing.T) {
	node := Node{Name: "node-2", Index: 2, at: site.Site{State: "/state"}}
	var config struct {
		ClusterDNS               []string          `json:"clusterDNS"`
		CgroupRoot               string            `json:"cgroupRoot"`
		PodLogsDir               string            `json:"podLogsDir"`
		ContainerRuntimeEndpoint string            `json:"containerRuntimeEndpoint"`
		EvictionHard             map[string]string `json:"evictionHard"`
	}
	if err := yaml.Unmarshal(node.kubeletConfig(), &config); err != nil {
		t.Fatalf("%v in\n%s", err, node.kubeletConfig())
	}
	if config.CgroupRoot != "/dbop-cluster/node-2" || config.PodLogsDir != "/state/nodes/node-2/pod-logs" ||
		config.ContainerRuntimeEndpoint != "unix:///state/nodes/node-2/run/containerd.sock" ||
		len(config.ClusterDNS) != 1 || config.ClusterDNS[0] != site.Host {
		t.Errorf("%+v", config)
	}
	if config.EvictionHard["nodefs.available"] != "0%" {
		t.Errorf("eviction %v: a full disk of the host must not evict pods", config.EvictionHard)
	}
}

func TestProxyConfig(t *testing.T) {
	node := Node{Name: "node-2", Index: 2, at: site.Site{State: "/state"}}
	var config struct {
		Mode             string   `json:"mode"`
		HostnameOverride string   `json:"hostnameOverride"`
		NodeIPOverride   []string `json:"nodeIPOverride"`
	}
	if err := yaml.Unmarshal(node.proxyConfig(), &config); err != nil {
		t.Fatal(err)
	}
	if config.Mode != "nftables" || config.HostnameOverride != "node-2" || len(config.NodeIPOverride) != 1 || config.NodeIPOverride[0] != "10.89.0.12" {
		t.Errorf("%+v", config)
	}
}

func TestCNIConfig(t *testing.T) {
	node := Node{Name: "node-2", Index: 2, at: site.Site{State: "/state"}}
	var config struct {
		Plugins []struct {
			Type string
			IPAM struct{ Ranges [][]struct{ Subnet string } }
		}
	}
	if err := json.Unmarshal(node.cniConfig(), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Plugins) != 1 || config.Plugins[0].IPAM.Ranges[0][0].Subnet != "10.90.2.0/24" {
		t.Errorf("%+v", config)
	}
}

func TestContainerdConfigKeepsToTheState(t *testing.T) {
	node := Node{Name: "node-1", Index: 1, at: site.Site{State: "/state"}}
	for line := range strings.Lines(string(node.containerdConfig())) {
		for _, place := range []string{"/run/", "/var/", "/etc/", "/opt/"} {
			if strings.Contains(line, `"`+place) {
				t.Errorf("outside of the state: %s", line)
			}
		}
	}
}

func TestNew(t *testing.T) {
	at := site.Site{State: t.TempDir()}
	for want, name := range []string{"a", "b", "c"} {
		node, err := New(at, name)
		if err != nil {
			t.Fatal(err)
		}
		if node.Index != want+1 {
			t.Errorf("%s has index %d", name, node.Index)
		}
	}
	// The index of a node that was removed is given away again.
	if err := os.RemoveAll(at.Node("b")); err != nil {
		t.Fatal(err)
	}
	node, err := New(at, "d")
	if err != nil || node.Index != 2 {
		t.Errorf("%+v, %v", node, err)
	}
	for _, name := range []string{"", "control", "UPPER", "a/b", "-a", strings.Repeat("a", 40)} {
		if _, err := New(at, name); err == nil {
			t.Errorf("%q must not name a node", name)
		}
	}
	if _, err := Find(at, "b"); err == nil || !strings.Contains(err.Error(), "[a d c]") {
		t.Errorf("%v must say which nodes there are", err)
	}
}
