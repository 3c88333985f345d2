package helperpod

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func TestBuildHelper(t *testing.T) {
	tests := map[string]Spec{
		"helper-repository": {
			Name: "dbop-repository-1", Namespace: "shop", Purpose: PurposeRepository, Image: "example.com/dbop:v1",
			Args: []string{"helper", "serve"}, Claim: "backups", SubPath: "etcd", MountPath: "/repository",
			Deadline: time.Hour,
		},
		"helper-load": {
			Name: "db-1-load", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeLoad,
			Image:       "example.com/etcd:v3.6.16",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, Claim: "db-1",
			MountPath: "/var/lib/etcd",
		},
		"helper-load-mounted": {
			Name: "db-1-load", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeLoad,
			Image:       "example.com/etcd:v3.6.16",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, Claim: "db-1",
			MountPath: "/var/lib/etcd",
			Files: []Files{{Volume: workload.ClaimVolume("repository", "backups"), Path: "/repository",
				SubPath: "etcd"}},
		},
		"helper-load-sidecar": {
			Name: "db-1-load", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeLoad,
			Image:       "example.com/postgres:17.12",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, Claim: "db-1",
			MountPath: "/var/lib/postgresql/member", User: 999,
			Sidecar: &Sidecar{Image: "example.com/dbop:v1", Args: []string{"helper", "serve"},
				Files: Files{Volume: workload.ClaimVolume("repository", "backups"), Path: "/repository",
					SubPath: "shop"}},
		},
		"helper-load-claim": {
			Name: "db-1-load", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeLoad,
			Image:       "example.com/postgres:17.12",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, Claim: "db-1",
			MountPath: "/var/lib/postgresql/member", User: 999, ToolGroup: true, SameNode: "backups",
			Files: []Files{{Volume: workload.ClaimVolume("claim", "backups"), Path: "/claim"}},
		},
		"helper-load-former": {
			Name: "db-1-load", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeLoad,
			Image:       "example.com/postgres:17.12",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, Claim: "db-1",
			MountPath: "/var/lib/postgresql/member",
			Former: &Former{Image: "example.com/postgres:15.20", Path: "/former",
				Command: []string{InstalledBinary, "helper", "programs"}},
		},
		"helper-verify": {
			Name: "verify-1-0", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeVerify,
			Image:       "example.com/etcd:v3.6.16",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"},
			MountPath: "/var/lib/etcd",
			Then:      &corev1.Container{Name: "etcd", Image: "example.com/etcd:v3.6.16", Command: []string{"etcd"}},
		},
		"helper-verify-agent": {
			Name: "verify-1-0", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeVerify,
			Image:       "example.com/postgres:17.12",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "load"}, MountPath: "/data",
			Then: &corev1.Container{Name: "postgres", Image: "example.com/postgres:17.12",
				VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: "/agent"}}},
			ThenInit: []corev1.Container{{Name: "agent", Image: "example.com/dbop:v1",
				VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: "/agent"}}}},
			ThenVolumes: []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
		"helper-measure": {
			Name: "db-1-measure", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeMeasure,
			Image: "example.com/dbop:v1", Node: "node-a",
			Args: []string{"helper", "measure"}, Claim: "db-1", MountPath: "/var/lib/etcd", ReadOnly: true,
		},
		"helper-examine": {
			Name: "db-1-examine", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeExamine,
			Image: "example.com/dbop:v1",
			Args:  []string{"helper", "examine"}, Claim: "db-1", MountPath: "/var/lib/etcd", ReadOnly: true,
		},
		"helper-recover": {
			Name: "recover-1-0", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeRecover,
			Image:       "example.com/etcd:v3.6.16",
			InstallFrom: "example.com/dbop:v1", Command: []string{InstalledBinary, "helper", "copy"},
			MountPath:   "/var/lib/etcd",
			SourceClaim: "db-1", SourcePath: "/source",
			Then: &corev1.Container{Name: "etcd", Image: "example.com/etcd:v3.6.16", Command: []string{"etcd"}},
		},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) { kubetest.Golden(t, name, Build(in)) })
	}
}
