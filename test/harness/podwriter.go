package harness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodWriter is a pod that writes all the time as a program of the cluster does: by the service of clients, with the
// secrets that it has.
type PodWriter struct {
	site      *Site
	namespace string
	pod       string
}

// PodWriterSpec says what writes where.
type PodWriterSpec struct {
	Namespace, Cluster string
	// Node is where it runs; "" for any.
	Node string
	// Image holds the client program.
	Image string
	// Script is run by sh. For each write that was acknowledged it prints a line with its number and the time in
	// nanoseconds since 1970. The cluster's authority is /tls/ca.crt.
	Script string
	// Env is for the client program. User and Password name the variables that take those of the applications' user.
	Env            map[string]string
	User, Password string
}

// PodAck is one write that was acknowledged.
type PodAck struct {
	Number int
	At     time.Time
}

// StartPodWriter starts a writer, and returns once it was acknowledged three writes.
func (s *Site) StartPodWriter(ctx context.Context, spec PodWriterSpec) (*PodWriter, error) {
	w := &PodWriter{site: s, namespace: spec.Namespace, pod: spec.Cluster + "-writer"}
	_, err := s.Client.CoreV1().Pods(spec.Namespace).Create(ctx, spec.Pod(w.pod), metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create the writer: %w", err)
	}
	return w, w.GoesOn(ctx, "the first writes to be acknowledged")
}

// Pod is a pod of that name that runs the script.
func (spec PodWriterSpec) Pod(name string) *corev1.Pod {
	yes, no, user, mode := true, false, int64(999), int32(0o440)
	secret := func(variable, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: spec.Cluster + "-user-client"}, Key: key}}}
	}
	env := []corev1.EnvVar{secret(spec.User, "username"), secret(spec.Password, "password")}
	for k, v := range spec.Env {
		env = append(env, corev1.EnvVar{Name: k, Value: v})
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: spec.Node, AutomountServiceAccountToken: &no, RestartPolicy: corev1.RestartPolicyNever,
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: spec.Cluster + "-client-tls", DefaultMode: &mode}}}},
		Containers: []corev1.Container{{
			Name: "writer", Image: spec.Image, Command: []string{"sh", "-c", spec.Script}, Env: env,
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true}},
		}},
	}}
}

// said is what the script printed so far.
func (w *PodWriter) said(ctx context.Context) (string, error) {
	raw, err := w.site.Client.CoreV1().Pods(w.namespace).GetLogs(w.pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read what the writer says: %w", err)
	}
	return string(raw), nil
}

// Acks are the writes that were acknowledged so far.
func (w *PodWriter) Acks(ctx context.Context) ([]PodAck, error) {
	said, err := w.said(ctx)
	if err != nil {
		return nil, err
	}
	var out []PodAck
	for line := range strings.Lines(said) {
		number, at, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err1 := strconv.Atoi(number)
		nanos, err2 := strconv.ParseInt(at, 10, 64)
		if ok && err1 == nil && err2 == nil {
			out = append(out, PodAck{n, time.Unix(0, nanos)})
		}
	}
	return out, nil
}

// GoesOn waits for three more writes.
func (w *PodWriter) GoesOn(ctx context.Context, what string) error {
	before := -1
	return Until(ctx, 2*time.Minute, what, func(ctx context.Context) error {
		p, err := w.site.Client.CoreV1().Pods(w.namespace).Get(ctx, w.pod, metav1.GetOptions{})
		if err != nil || p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the writer does not run: %w", err)
		}
		acks, err := w.Acks(ctx)
		if err != nil {
			return err
		}
		if before < 0 {
			before = len(acks)
		}
		if len(acks) < before+3 {
			return fmt.Errorf("%d writes were acknowledged", len(acks))
		}
		return nil
	})
}

// LongestGap is the longest time without an acknowledgement that ended in a span.
func (w *PodWriter) LongestGap(ctx context.Context, from, to time.Time) (time.Duration, error) {
	acks, err := w.Acks(ctx)
	longest := time.Duration(0)
	for i := 1; i < len(acks); i++ {
		if acks[i].At.After(from) && acks[i-1].At.Before(to) {
			longest = max(longest, acks[i].At.Sub(acks[i-1].At))
		}
	}
	return longest, err
}

// unconnected begins the line of a connection that a writer did not get. The time in nanoseconds since 1970 follows.
const unconnected = "unconnected"

// Unconnected are the connections that a writer did not get within a span, and why, if its script tells of them.
func (w *PodWriter) Unconnected(ctx context.Context, from, to time.Time) (failed []string, err error) {
	said, err := w.said(ctx)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), unconnected+" ")
		when, why, _ := strings.Cut(rest, " ")
		nanos, err := strconv.ParseInt(when, 10, 64)
		if at := time.Unix(0, nanos); ok && err == nil && at.After(from) && at.Before(to) {
			failed = append(failed, why)
		}
	}
	return failed, nil
}

// Stop ends the writer, and returns what was acknowledged to it.
func (w *PodWriter) Stop(ctx context.Context) ([]PodAck, error) {
	acks, err := w.Acks(ctx)
	if err != nil {
		return nil, err
	}
	err = w.site.Client.CoreV1().Pods(w.namespace).Delete(ctx, w.pod,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		return nil, fmt.Errorf("end the writer: %w", err)
	}
	return acks, nil
}

// Missing are the numbers of the acknowledged writes that are not among those that the database holds.
func Missing(acks []PodAck, there []string) []int {
	held := make(map[string]bool, len(there))
	for _, number := range there {
		held[number] = true
	}
	var lost []int
	for _, a := range acks {
		if !held[strconv.Itoa(a.Number)] {
			lost = append(lost, a.Number)
		}
	}
	return slices.Compact(lost)
}
