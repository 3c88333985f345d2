// Package pod renders the pods of engines with agents: the agent's program comes by an init container into the
// unmodified image of the database, runs as the guard, and reads its configuration from a variable of the template.
package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/client"
)

// Ports of an agent beside client.Port: of the group, of the probes, and those where it passes clients on.
const (
	groupPort    = 9741
	healthPort   = 9742
	primaryPort  = 9743
	replicasPort = 9744
	// sentinelPort is that of Sentinel, which clients try first.
	sentinelPort = 26379
)

// Where things are in the containers.
const (
	programPath = "/agent"
	runPath     = "/run/dbop"
	tlsPath     = "/etc/dbop/tls"
	sourcePath  = "/etc/dbop/source"
	// variable holds the configuration, namespaceVariable the namespace of the pod.
	variable          = "DBOP_AGENT"
	namespaceVariable = "POD_NAMESPACE"
)

// SocketsPath is where the Unix sockets of a member are. The agent makes it, for its own user alone.
const SocketsPath = runPath + "/sockets"

// MemoryPath is a directory in the memory of a member's pod.
const MemoryPath = "/dev/shm"

// startBudget is how many seconds a member may take until its agent answers.
const startBudget = 600

// graceSeconds is for the end of a primary in order: a checkpoint, and the confirmation of a replica.
const graceSeconds = 60

// Database is what an engine adds.
type Database struct {
	// Container is the name of the container, User the ID that its image's files are made for.
	Container string
	User      int64
	// Volume is where the member's volume is mounted.
	Volume string
	// Port is where the server takes clients.
	Port int32
	// Key is the field of the agent's configuration for this engine, Config its value.
	Key    string
	Config map[string]any
	// Settings are those that the agents agree on at first.
	Settings protocol.Settings
	// Sentinel has the agents answer clients of Sentinel.
	Sentinel bool
}

// Render renders a member's pod.
func Render(in engine.PodInput, d Database) (engine.Pod, error) {
	if in.Cluster.Status.Bootstrap == nil || in.Cluster.Status.Bootstrap.Token == "" {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: the cluster has no token yet", in.Member)
	}
	if in.ToolImage == "" {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, errNoImage)
	}
	configuration, err := json.Marshal(configure(in, d))
	if err != nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, err)
	}
	mounts := []corev1.VolumeMount{{Name: "agent", MountPath: programPath}, {Name: "run", MountPath: runPath},
		{Name: "shm", MountPath: MemoryPath}}
	program := programPath + "/dbop-agent"
	container := corev1.Container{
		Name: d.Container, Image: in.Image, Command: []string{program, "guard", "--config-env", variable},
		Env: []corev1.EnvVar{
			{Name: namespaceVariable, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}},
			{Name: variable, Value: string(configuration)},
		},
		Resources: *in.Cluster.Spec.Resources.DeepCopy(), VolumeMounts: mounts,
		Ports: []corev1.ContainerPort{
			port("client", d.Port), port("agent", client.Port), port("group", groupPort), port("health", healthPort),
			port("primary", primaryPort), port("replicas", replicasPort),
		},
	}
	if d.Sentinel {
		container.Ports = append(container.Ports, port("sentinel", sentinelPort))
	}
	if !in.Loopback {
		probe(&container)
	}
	volumes := []corev1.Volume{empty("agent", ""), empty("run", ""), empty("shm", corev1.StorageMediumMemory)}
	if secret, there := sourceSecret(in); there {
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: secret.Name, MountPath: sourcePath, ReadOnly: true})
		volumes = append(volumes, secret)
	}
	account := ""
	if direct(in) {
		account = v1alpha1.AgentAccount(in.Cluster.Name)
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: apiVolume, MountPath: apiPath, ReadOnly: true})
		volumes = append(volumes, credentials())
	}
	return engine.Pod{
		Account:   account,
		Container: container,
		Init: []corev1.Container{{
			Name: v1alpha1.AgentContainer, Image: in.ToolImage,
			Command:      []string{"/usr/local/bin/dbop-agent", "install", programPath},
			VolumeMounts: mounts[:1],
		}},
		Volumes: volumes, User: d.User, DataPath: d.Volume, DataDir: directory(d) + "/data", TLSPath: tlsPath,
		GraceSeconds: graceSeconds,
	}, nil
}

var errNoImage = errors.New("nobody named the image with the agent")

func directory(d Database) string { return d.Volume + "/member" }

// configure is what cmd/dbop-agent reads.
func configure(in engine.PodInput, d Database) map[string]any {
	c := in.Cluster
	identity := map[string]any{"certificate": tlsPath + "/tls.crt", "key": tlsPath + "/tls.key",
		"authority": tlsPath + "/ca.crt"}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(identity)
		maps.Copy(out, more)
		return out
	}
	listen := func(port int) string { return fmt.Sprintf(":%d", port) }
	// A copy of the pod in another namespace must not speak to the members of this one.
	address := func(port int32) string {
		return fmt.Sprintf("%s.%s.$(%s).svc:%d", v1alpha1.PodName("{member}"), v1alpha1.HeadlessService(c.Name),
			namespaceVariable, port)
	}
	if in.Loopback {
		return alone(in, d)
	}
	out := map[string]any{
		"member": in.Member, "token": c.Status.Bootstrap.Token, "directory": directory(d), "sockets": SocketsPath,
		"listen": listen(groupPort), "identity": identity,
		"address": address(groupPort),
		"api":     with(map[string]any{"listen": listen(client.Port), "users": []string{v1alpha1.AdminUser}}),
		"proxy": map[string]any{"listen": listen(primaryPort), "readOnly": listen(replicasPort),
			"address": address(d.Port)},
		"health": map[string]any{"listen": listen(healthPort)},
	}
	if d.Sentinel {
		out["sentinel"] = map[string]any{"name": c.Name, "listen": listen(sentinelPort), "address": address(sentinelPort)}
	}
	if direct(in) {
		out["service"] = leads(in)
	}
	if in.Bootstrap {
		var initial []protocol.InitialMember
		for _, name := range in.Peers {
			initial = append(initial, protocol.InitialMember{ID: protocol.MemberID(name),
				Witness: slices.Contains(c.Status.Bootstrap.Witnesses, name)})
		}
		out["initialMembers"], out["settings"] = initial, d.Settings
		// An incarnation that began from other data follows nobody.
		if from := c.Spec.Source; from != nil && c.Status.Bootstrap.Incarnation == 0 {
			out["source"] = source(c, d.Port)
		}
	}
	if _, there := sourceSecret(in); there {
		out["sourceSecret"] = sourcePath
	}
	if !in.Witness {
		out[d.Key] = with(d.Config)
	}
	return out
}

// DisableBootstrap implements engine.Renderer: without initial members an agent only joins.
func DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	sealed := *template.DeepCopy()
	for i := range sealed.Spec.Containers {
		for j := range sealed.Spec.Containers[i].Env {
			e := &sealed.Spec.Containers[i].Env[j]
			var configuration map[string]json.RawMessage
			if e.Name != variable || json.Unmarshal([]byte(e.Value), &configuration) != nil {
				continue
			}
			delete(configuration, "initialMembers")
			delete(configuration, "settings")
			delete(configuration, "source")
			if content, err := json.Marshal(configuration); err == nil {
				e.Value = string(content)
			}
		}
	}
	return sealed
}

// Ports implements engine.Renderer. Behind the services of clients every agent answers, and passes them on, but for the
// clients of a primary that are led there directly.
func Ports(c *v1alpha1.DatabaseCluster, database int32) []corev1.ServicePort {
	target := "primary"
	if c.Spec.Direct() {
		target = "client"
	}
	return []corev1.ServicePort{service("client", database, target), service("readonly", database, "replicas"),
		service("agent", client.Port, "agent"), service("group", groupPort, "group")}
}

// SentinelPort is the port of the services where agents answer clients of Sentinel.
func SentinelPort() corev1.ServicePort { return service("sentinel", sentinelPort, "sentinel") }

func service(name string, n int32, target string) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: n, TargetPort: intstr.FromString(target), Protocol: corev1.ProtocolTCP}
}

func port(name string, n int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: n, Protocol: corev1.ProtocolTCP}
}

// empty is a directory of the pod's; one in memory counts against the memory of the pod.
func empty(name string, medium corev1.StorageMedium) corev1.Volume {
	source := &corev1.EmptyDirVolumeSource{Medium: medium}
	if medium == corev1.StorageMediumMemory {
		source.SizeLimit = new(resource.MustParse("256Mi"))
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}}
}

// probe adds the probes. Liveness asks for the agent alone: it restarts the server itself.
func probe(c *corev1.Container) {
	at := func(path string, period, failures int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: min(period, 5), FailureThreshold: failures,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Scheme: corev1.URISchemeHTTP,
				Port: intstr.FromString("health")}}}
	}
	c.StartupProbe, c.LivenessProbe, c.ReadinessProbe = at("/live", 1, startBudget), at("/live", 10, 6),
		at("/ready", 2, 3)
}
