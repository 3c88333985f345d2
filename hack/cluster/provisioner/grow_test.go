package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWantsMore(t *testing.T) {
	for name, test := range map[string]struct {
		wanted, has string
		phase       corev1.PersistentVolumeClaimPhase
		want        bool
	}{
		"grew":          {"2Gi", "1Gi", corev1.ClaimBound, true},
		"content":       {"1Gi", "1Gi", corev1.ClaimBound, false},
		"got more":      {"1Gi", "2Gi", corev1.ClaimBound, false},
		"not yet bound": {"2Gi", "1Gi", corev1.ClaimPending, false},
		"unknown size":  {"2Gi", "0", corev1.ClaimBound, false},
		"other units":   {"1024Mi", "1Gi", corev1.ClaimBound, false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(test.wanted)}
			claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(test.has)}
			claim.Status.Phase = test.phase
			if got := wantsMore(claim); got != test.want {
				t.Errorf("wantsMore = %v, want %v", got, test.want)
			}
		})
	}
}

func TestCapacityPatch(t *testing.T) {
	for section, want := range map[string]string{
		"spec":   `{"spec":{"capacity":{"storage":"2Gi"}}}`,
		"status": `{"status":{"capacity":{"storage":"2Gi"},"conditions":null}}`,
	} {
		patch, err := capacityPatch(section, resource.MustParse("2Gi"))
		if err != nil {
			t.Fatal(err)
		}
		if string(patch) != want {
			t.Errorf("%s: %s, want %s", section, patch, want)
		}
	}
}
