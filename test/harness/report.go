package harness

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reportWithin bounds the collection of evidence.
const reportWithin = 30 * time.Second

// Report writes what a person needs to understand a failure: pods, volumes,
// warnings, what the tool says, and the ends of the members' logs.
func (s *Site) Report(ctx context.Context, w io.Writer, namespace string, cli Command, clusters ...string) {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	for _, c := range clusters {
		for _, args := range [][]string{{"status", c}, {"history", c}} {
			r, err := cli.Run(ctx, append(args, "-n", namespace)...)
			fmt.Fprintln(w, r, orNothing(err))
		}
	}
	pods, err := s.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(w, "list pods:", err)
		return
	}
	for _, p := range pods.Items {
		fmt.Fprintf(w, "pod %s on %s: %s ready=%t ip=%s restarts=%d deleting=%t\n", p.Name, p.Spec.NodeName, p.Status.Phase,
			ready(&p), p.Status.PodIP, restarts(&p), p.DeletionTimestamp != nil)
	}
	s.reportVolumes(ctx, w, namespace)
	for _, p := range pods.Items {
		s.reportReady(ctx, w, &p)
		s.reportLog(ctx, w, &p)
	}
}

// reportReady tells what an agent answers to the probe whether its member may serve: the kubelet does not tell.
func (s *Site) reportReady(ctx context.Context, w io.Writer, p *corev1.Pod) {
	for _, c := range p.Spec.Containers {
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet == nil || ready(p) {
			continue
		}
		ask := c.ReadinessProbe.HTTPGet
		for _, port := range c.Ports {
			if port.Name == ask.Port.StrVal {
				number := strconv.Itoa(int(port.ContainerPort))
				raw, err := s.Client.CoreV1().Pods(p.Namespace).ProxyGet("http", p.Name, number, ask.Path, nil).DoRaw(ctx)
				fmt.Fprintf(w, "%s of %s: %s %s\n", ask.Path, p.Name, strings.TrimSpace(string(raw)), orNothing(err))
			}
		}
	}
}

func (s *Site) reportVolumes(ctx context.Context, w io.Writer, namespace string) {
	claims, err := s.Client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, c := range claims.Items {
			fmt.Fprintf(w, "pvc %s: %s %s\n", c.Name, c.Status.Phase, c.Spec.VolumeName)
		}
	}
	events, err := s.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err == nil {
		for _, e := range events.Items {
			fmt.Fprintf(w, "event %s %s/%s: %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Kind,
				e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}

func (s *Site) reportLog(ctx context.Context, w io.Writer, p *corev1.Pod) {
	lines := int64(25)
	raw, err := s.Client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
	fmt.Fprintf(w, "log of %s: %s\n%s\n", p.Name, orNothing(err), indent(string(raw)))
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func restarts(p *corev1.Pod) int32 {
	var n int32
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}

func indent(s string) string { return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

func orNothing(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
