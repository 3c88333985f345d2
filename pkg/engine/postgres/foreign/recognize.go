package foreign

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Port is where PostgreSQL serves clients unless it is told otherwise.
const Port = 5432

// plainPassword is the danger of a password that is in a pod.
const plainPassword = "password"

// Recognize finds the container of a pod that is a server; false if there is none.
func Recognize(pod corev1.PodSpec) (engine.MemberConfig, bool) {
	best, score := engine.MemberConfig{}, 0
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if s := likeness(c); s > score {
			best, score = configOf(c), s
		}
	}
	return best, score > 0
}

// likeness is 0 for a container that is no server. Sidecars often bear its name in their image, or know its password.
func likeness(c *corev1.Container) int {
	image, _, _ := strings.Cut(path.Base(strings.Split(c.Image, "@")[0]), ":")
	for _, other := range []string{"exporter", "bouncer", "pool", "backup", "proxy", "init"} {
		if strings.Contains(image, other) {
			return 0
		}
	}
	score := 0
	for _, name := range []string{"postgres", "postgis", "spilo", "timescaledb", "pgvector"} {
		if strings.HasPrefix(image, name) {
			score = 2
		}
	}
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "PGDATA" }) {
		score += 2
	}
	if port, named := portOf(c); named && port > 0 {
		score++
	}
	if score == 1 {
		return 0 // a port of that number alone may be anybody's
	}
	return score
}

// portOf is where clients are served, and whether the container says so.
func portOf(c *corev1.Container) (int, bool) {
	for _, p := range c.Ports {
		if p.ContainerPort == Port || strings.Contains(p.Name, "postgres") {
			return int(p.ContainerPort), true
		}
	}
	return Port, false
}

func configOf(c *corev1.Container) engine.MemberConfig {
	out := engine.MemberConfig{Container: c.Name, Image: c.Image, Hidden: "the files of the server"}
	out.Port, _ = portOf(c)
	words := slices.Concat(c.Command, c.Args)
	for i, w := range words {
		set, isOption := strings.CutPrefix(w, "-c")
		switch {
		case isOption && set == "" && i+1 < len(words):
			set = words[i+1]
		case strings.HasPrefix(w, "--"):
			set = strings.TrimPrefix(w, "--")
		case !isOption:
			continue
		}
		name, value, given := strings.Cut(strings.TrimSpace(set), "=")
		if !given {
			continue
		}
		if out.Options == nil {
			out.Options = map[string]string{}
		}
		out.Options[strings.ReplaceAll(strings.ToLower(name), "-", "_")] = value
	}
	out.Certificate, out.Key, out.Authority = out.Options["ssl_cert_file"], out.Options["ssl_key_file"],
		out.Options["ssl_ca_file"]
	out.TLS = out.Options["ssl"] == "on"
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "POSTGRES") && strings.HasSuffix(e.Name, "PASSWORD") && e.Value != "" {
			out.Dangerous = append(out.Dangerous, plainPassword)
		}
	}
	return out
}
