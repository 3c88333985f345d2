package drift

import "reflect"

// replacedMaps calls note for every map that somebody else set as a whole, such as the
// selector of a service: it differs as soon as it has one key more.
func (c Comparison) replacedMaps(owners fieldOwners, wanted, found map[string]any, note func(path Path, want,
	have any)) {
	for _, leaf := range owners.foreign {
		want, isMap := value(wanted, leaf).(map[string]any)
		if !isMap || !leaf.below(c.Added) || leaf.below(c.besides) {
			continue
		}
		if have := value(found, leaf); !reflect.DeepEqual(any(want), have) {
			note(leaf, want, have)
		}
	}
}
