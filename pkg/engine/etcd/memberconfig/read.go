package memberconfig

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// environment is how etcd spells its flags as variables: ETCD_DATA_DIR.
const environment = "ETCD_"

// Read finds the container of a pod that is etcd; false if there is none. Charts and
// manifests start etcd by flags, by variables, through a shell or through a script of
// their image; what is visible of all that is read, with etcd's own precedence.
func Read(pod corev1.PodSpec) (engine.MemberConfig, bool) {
	best, score := engine.MemberConfig{}, 0
	for i := range pod.Containers {
		c := &pod.Containers[i]
		flags := flagsOf(c)
		if s := likeness(c, flags); s > score {
			best, score = memberConfigFrom(c, flags), s
		}
	}
	return best, score > 0
}

// likeness is 0 for a container that is not etcd. Sidecars often bear its name
// in their image, so that what is told of serving clients counts more.
func likeness(c *corev1.Container, flags map[string]string) int {
	_, listens := flags["listen-client-urls"]
	_, data := flags["data-dir"]
	image, _, _ := strings.Cut(path.Base(strings.Split(c.Image, "@")[0]), ":")
	switch {
	case listens:
		return 3
	case image == "etcd" || slices.ContainsFunc(words(c), func(w string) bool { return path.Base(w) == "etcd" }):
		return 2
	case data && flags["initial-cluster"] != "":
		return 1
	}
	return 0
}

// words are those of the command line. A line that is given to a shell is
// taken apart: what resembles a flag in it is one.
func words(c *corev1.Container) []string {
	var out []string
	for _, arg := range slices.Concat(c.Command, c.Args) {
		for w := range strings.FieldsSeq(arg) {
			out = append(out, strings.Trim(w, `"'\;`))
		}
	}
	return out
}

// flagsOf reads what is set; a flag outweighs a variable.
func flagsOf(c *corev1.Container) map[string]string {
	out := map[string]string{}
	for _, e := range c.Env {
		if name, ok := strings.CutPrefix(e.Name, environment); ok && e.ValueFrom == nil {
			out[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] = e.Value
		}
	}
	all := words(c)
	for i, w := range all {
		name, ok := strings.CutPrefix(w, "-")
		name = strings.TrimPrefix(name, "-")
		if !ok || name == "" {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		switch {
		case given:
			value = strings.Trim(value, `"'`)
		case i+1 < len(all) && !strings.HasPrefix(all[i+1], "-"):
			value = all[i+1]
		default:
			value = "true"
		}
		out[name] = value
	}
	return out
}

func memberConfigFrom(c *corev1.Container, set map[string]string) engine.MemberConfig {
	t := engine.MemberConfig{Container: c.Name, Image: c.Image,
		Certificate: set["cert-file"], Key: set["key-file"], Authority: set["trusted-ca-file"],
		// etcd demands certificates as soon as it is told whom to trust
		// (transport.TLSInfo); the flag of that name only makes users of them.
		ClientCertificates: set["client-cert-auth"] == "true" || set["trusted-ca-file"] != ""}
	t.Port, t.TLS = clientsOf(c, set)
	t.TLS = t.TLS || t.Certificate != "" || set["auto-tls"] == "true"
	t.PeerTLS = strings.Contains(set["listen-peer-urls"]+set["initial-advertise-peer-urls"], "https://") ||
		set["peer-cert-file"] != "" || set["peer-auto-tls"] == "true"
	for name, value := range set {
		if _, ours := flags.Find(name); ours || Experimental(name) {
			if t.Options == nil {
				t.Options = map[string]string{}
			}
			t.Options[name] = value
		}
	}
	for _, name := range []string{"unsafe-no-fsync", "force-new-cluster"} {
		if set[name] == "true" {
			t.Dangerous = append(t.Dangerous, name)
		}
	}
	if file := set["config-file"]; file != "" {
		t.Hidden = "the file " + file
	}
	return t
}

// Experimental reports whether a name is one of those that a minor version drops.
func Experimental(name string) bool { return strings.HasPrefix(name, "experimental-") }

// clientsOf is where clients are served: the address that others can reach
// counts, and what is in a port's name if nothing is told.
func clientsOf(c *corev1.Container, flags map[string]string) (port int, secure bool) {
	for _, flag := range []string{"listen-client-urls", "advertise-client-urls"} {
		for u := range strings.SplitSeq(flags[flag], ",") {
			scheme, rest, ok := strings.Cut(strings.TrimSpace(u), "://")
			if !ok {
				continue
			}
			// Hosts are often variables that nobody has expanded yet.
			n, err := strconv.Atoi(strings.TrimRight(rest[strings.LastIndex(rest, ":")+1:], "/"))
			if err != nil || n <= 0 || n > 65535 {
				continue
			}
			if port == 0 || !loopback(u) {
				port, secure = n, scheme == "https"
			}
		}
		if port != 0 {
			return port, secure
		}
	}
	for _, p := range c.Ports {
		if strings.Contains(p.Name, "client") || p.ContainerPort == addresses.ClientPort {
			return int(p.ContainerPort), false
		}
	}
	return addresses.ClientPort, false
}

func loopback(u string) bool {
	parsed, err := url.Parse(strings.TrimSpace(u))
	return err == nil && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, cmp.Or(parsed.Hostname(), "-"))
}
