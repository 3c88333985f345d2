package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// haproxyImage is what hack/bench-images.sh makes of Debian's package.
	haproxyImage = "dbop.test/dbop-dev/haproxy:bench"
	haproxyPod   = "haproxy"
	haproxyPort  = 7000
	// haproxyProcess is the process of HAProxy: its loader starts it.
	haproxyProcess = "ld-linux-x86-64"
	// besidePod is the container of HAProxy's pod that has a shell.
	besidePod = "shell"
)

// haproxyConfig passes connections to one server, with as many threads as there are processors, as it does by default.
const haproxyConfig = `defaults
 mode tcp
 timeout connect 5s
 timeout client 1h
 timeout server 1h
listen database
 bind :%d
 server primary %s
`

// startHAProxies runs HAProxy in front of a server, once on each of the nodes given, and a service in front of all. It
// returns the addresses of the service and of the pods. A container beside each, of the image given, can see its
// processes.
func (b *bench) startHAProxies(ctx context.Context, ns string, nodes []string, server, image string) (service string,
	pods []string, err error) {
	core := b.site.Client.CoreV1()
	_, err = core.ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: haproxyPod},
		Data:       map[string]string{"haproxy.cfg": fmt.Sprintf(haproxyConfig, haproxyPort, server)},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("create the configuration of HAProxy: %w", err)
	}
	labels := map[string]string{appLabel: haproxyPod}
	made, err := core.Services(ns).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: haproxyPod},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: haproxyPort}}}},
		metav1.CreateOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("create the service of HAProxy: %w", err)
	}
	for i, node := range nodes {
		p := haproxy(image)
		p.Name, p.Labels, p.Spec.NodeName = haproxyName(i), labels, node
		address, err := b.startPod(ctx, ns, p)
		if err != nil {
			return "", nil, err
		}
		pods = append(pods, address)
	}
	return made.Spec.ClusterIP, pods, nil
}

// haproxyName is the name of a pod.
func haproxyName(i int) string { return fmt.Sprintf("%s-%d", haproxyPod, i) }

func haproxy(image string) *corev1.Pod {
	yes, no, user := true, false, int64(999)
	limited := &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	command := "/usr/local/bin/" + haproxyProcess + ".so.2 --library-path /usr/local/bin " +
		"/usr/local/bin/haproxy -db -f /etc/haproxy/haproxy.cfg"
	return &corev1.Pod{Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no, ShareProcessNamespace: &yes,
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: haproxyPod}}}}},
		Containers: []corev1.Container{
			{Name: haproxyPod, Image: haproxyImage, Command: strings.Fields(command), SecurityContext: limited,
				WorkingDir:   "/", // it goes back there, and may
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/haproxy"}}},
			{Name: besidePod, Image: image, Command: []string{"sh", "-c", forever}, SecurityContext: limited},
		},
	}}
}
