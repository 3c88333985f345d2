package kube

// Annotations that the tool writes; facts are read back from them.
const (
	// AnnotationClusterID is the permanent identifier of the cluster that an object belongs to.
	AnnotationClusterID = "dbop.dev/cluster-id"
	// AnnotationToken is the formation that an object was made by, on volume and workload.
	AnnotationToken = "dbop.dev/token"
	// AnnotationRecord is a copy of the cluster's record, on each volume claim.
	AnnotationRecord = "dbop.dev/record"
	// AnnotationVersion is the version that a pod runs, on workload, template and pod.
	AnnotationVersion = "dbop.dev/version"
	// AnnotationSettings is the digest of the settings that a pod runs with, on workload, template and pod.
	AnnotationSettings = "dbop.dev/settings"
	// AnnotationRendering is the digest of what a pod was rendered from, on workload, template and pod.
	AnnotationRendering = "dbop.dev/rendering"
	// AnnotationBootstrap is "true" while a workload's template could found a cluster.
	AnnotationBootstrap = "dbop.dev/bootstrap"
	// AnnotationRenderer is the version of the tool that rendered a workload.
	AnnotationRenderer = "dbop.dev/renderer"
	// AnnotationCertificate is the certificate, by its fingerprint, that a pod
	// was last told of; it makes the kubelet read the secret.
	AnnotationCertificate = "dbop.dev/certificate"
	// AnnotationPolicy is what a schedule's CronJob carries out, as JSON, and
	// AnnotationSince when that was asked for.
	AnnotationPolicy = "dbop.dev/backup-policy"
	AnnotationSince  = "dbop.dev/since"
	// AnnotationProcess describes the process that holds a lease.
	AnnotationProcess = "dbop.dev/process"
	// AnnotationOperation says what the holder of a lease does.
	AnnotationOperation = "dbop.dev/operation"
)
