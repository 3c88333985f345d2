package kube

import "testing"

func TestBuildVolume(t *testing.T) {
	golden(t, "volume", BuildVolume(testCluster(), "db-2"))
}

func TestBuildVolumeBeforeFormation(t *testing.T) {
	c := testCluster()
	c.Status.Formation = nil
	if got := BuildVolume(c, "db-1").Annotations[AnnotationToken]; got != "" {
		t.Errorf("token %q without a formation", got)
	}
}
