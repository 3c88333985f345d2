package kube

import "testing"

func TestBuildBudget(t *testing.T) {
	golden(t, "budget", BuildBudget(testCluster(), 2))
}
