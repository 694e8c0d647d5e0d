package sql

// quicksort sorts as Postgres's tuplesort does in memory (Bentley and McIlroy, "Engineering a Sort Function", 1993, with a check
// for input that is sorted already), so that rows which the keys of ORDER BY do not tell apart come, and are locked, in the order
// in which they come on a server. Up to six rows that is their order in the input.
func quicksort[T any](a []T, cmp func(x, y *T) int) {
	swap := func(i, j, n int) {
		for k := range n {
			a[i+k], a[j+k] = a[j+k], a[i+k]
		}
	}
	median := func(i, j, k int) int {
		if cmp(&a[i], &a[j]) < 0 {
			if cmp(&a[j], &a[k]) < 0 {
				return j
			} else if cmp(&a[i], &a[k]) < 0 {
				return k
			}
			return i
		}
		if cmp(&a[j], &a[k]) > 0 {
			return j
		} else if cmp(&a[i], &a[k]) < 0 {
			return i
		}
		return k
	}
	for {
		n := len(a)
		sorted := true
		for i := 1; i < n && sorted; i++ {
			sorted = cmp(&a[i-1], &a[i]) <= 0
		}
		if sorted {
			return
		}
		if n < 7 {
			for i := 1; i < n; i++ {
				for j := i; j > 0 && cmp(&a[j-1], &a[j]) > 0; j-- {
					swap(j-1, j, 1)
				}
			}
			return
		}
		mid := n / 2
		if n > 7 {
			low, high := 0, n-1
			if n > 40 {
				d := n / 8
				low, mid, high = median(low, low+d, low+2*d), median(mid-d, mid, mid+d), median(high-2*d, high-d, high)
			}
			mid = median(low, mid, high)
		}
		swap(0, mid, 1)
		// Elements equal to the pivot gather at both ends, then move to the middle.
		eqLow, lo, hi, eqHigh := 1, 1, n-1, n-1
		for {
			for lo <= hi {
				c := cmp(&a[lo], &a[0])
				if c > 0 {
					break
				}
				if c == 0 {
					swap(eqLow, lo, 1)
					eqLow++
				}
				lo++
			}
			for lo <= hi {
				c := cmp(&a[hi], &a[0])
				if c < 0 {
					break
				}
				if c == 0 {
					swap(hi, eqHigh, 1)
					eqHigh--
				}
				hi--
			}
			if lo > hi {
				break
			}
			swap(lo, hi, 1)
			lo++
			hi--
		}
		less, more := lo-eqLow, eqHigh-hi
		k := min(eqLow, less)
		swap(0, lo-k, k)
		k = min(more, n-eqHigh-1)
		swap(lo, n-k, k)
		small, large := a[:less], a[n-more:]
		if len(small) > len(large) {
			small, large = large, small
		}
		quicksort(small, cmp)
		a = large
	}
}
