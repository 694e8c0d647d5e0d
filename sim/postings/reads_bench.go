package postings

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// ReadBench compares the hot reads of a ledger on the mutable-status encoding and on the index tables, on a real server: what
// can an account spend, and what does it own, while the history grows. Both encodings hold the same postings.
type ReadBench struct {
	History  []int `json:"history"`  // numbers of historical postings to measure at, growing
	Accounts int   `json:"accounts"` // accounts that the postings are spread over
	Live     int   `json:"live"`     // postings of each account that are live; all others are spent
	Reads    int   `json:"reads"`    // reads of each kind at each size
}

// DefaultReadBench grows to a number of historical postings, by way of 1, 3, 10 and 30 percent of it.
func DefaultReadBench(history int) ReadBench {
	b := ReadBench{Accounts: 100, Live: 10, Reads: 300}
	for _, percent := range []int{1, 3, 10, 30, 100} {
		b.History = append(b.History, history*percent/100)
	}
	return b
}

// ReadPoint is one measurement; times are medians and 95th percentiles of single reads.
type ReadPoint struct {
	History  int           `json:"history"`
	Encoding string        `json:"encoding"`
	Read     string        `json:"read"`
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
	Buffers  int           `json:"buffers"` // shared buffers that one read touched, from EXPLAIN (ANALYZE, BUFFERS)
}

// check wants sizes that grow, and room in the first for what is live.
func (b ReadBench) check() error {
	if b.Accounts < 1 || b.Live < 1 || b.Reads < 1 || len(b.History) == 0 {
		return fmt.Errorf("a measurement needs a history, accounts, live postings and reads, not %+v", b)
	}
	have := b.Accounts * b.Live
	for _, size := range b.History {
		if size < have {
			return fmt.Errorf("a history of %d postings is too small: there are %d before it grows, or live", size, have)
		}
		have = size
	}
	return nil
}

// Run fills a database that is empty of these tables, measures, and drops the tables. conn is a superuser's.
func (b ReadBench) Run(ctx context.Context, conn *pgx.Conn, progress io.Writer) ([]ReadPoint, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), `DROP SCHEMA IF EXISTS reads_index, reads_status CASCADE`)
	}()
	setup := `DROP SCHEMA IF EXISTS reads_index, reads_status CASCADE;
CREATE SCHEMA reads_index; SET search_path TO reads_index;` + schemaIndex + `
CREATE SCHEMA reads_status; SET search_path TO reads_status;` + schemaStatus
	if _, err := conn.Exec(ctx, setup); err != nil {
		return nil, fmt.Errorf("make the tables: %w", err)
	}
	var out []ReadPoint
	have := 0
	for _, size := range b.History {
		if err := b.grow(ctx, conn, have, size); err != nil {
			return nil, fmt.Errorf("grow to %d postings: %w", size, err)
		}
		have = size
		for _, e := range []struct {
			schema, name string
			reads        byOwner
		}{{"reads_status", "mutable status", byOwnerStatus}, {"reads_index", "index tables", byOwnerIndex}} {
			if _, err := conn.Exec(ctx, `SET search_path TO `+e.schema); err != nil {
				return nil, err
			}
			for _, r := range []struct {
				name   string
				filter Filter
			}{{"spendable", FilterActive}, {"live", FilterLive}} {
				p, err := b.measure(ctx, conn, e.reads[r.filter])
				if err != nil {
					return nil, fmt.Errorf("%s of the %s encoding: %w", r.name, e.name, err)
				}
				p.History, p.Encoding, p.Read = size, e.name, r.name
				out = append(out, p)
				fmt.Fprintf(progress, "%8d postings, %-14s %-9s p50 %v\n", size, e.name, r.name, p.P50.Round(time.Microsecond))
			}
		}
	}
	return out, nil
}

// grow adds the postings from..to-1 to both encodings. The last Live postings of each account are live, the others are spent:
// what was live before is spent when newer ones come.
func (b ReadBench) grow(ctx context.Context, conn *pgx.Conn, from, to int) error {
	columns := fmt.Sprintf(`lpad(to_hex(i), 64, '0'), 0::smallint, i %% %d, 0, %d, '10'`, b.Accounts, usd)
	live := to - b.Accounts*b.Live
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO reads_index.postings SELECT %s FROM generate_series(%d, %d) i`, columns, from, to-1),
		`DELETE FROM reads_index.active_postings`,
		fmt.Sprintf(`INSERT INTO reads_index.active_postings SELECT %s FROM generate_series(%d, %d) i`, columns, live, to-1),
		`UPDATE reads_status.postings SET status = 2 WHERE status = 0`,
		fmt.Sprintf(`INSERT INTO reads_status.postings SELECT %s, CASE WHEN i < %d THEN 2 ELSE 0 END, NULL FROM generate_series(%d, %d) i`, columns, live, from, to-1),
		`VACUUM ANALYZE reads_index.postings, reads_index.active_postings, reads_index.reserved_postings, reads_status.postings`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// measure reads accounts in turn, after a warm-up.
func (b ReadBench) measure(ctx context.Context, conn *pgx.Conn, read string) (ReadPoint, error) {
	var p ReadPoint
	times := make([]time.Duration, 0, b.Reads)
	const warmUp = 20
	for i := range b.Reads + warmUp {
		sql, args := bind(read, named{"id": int64(i % b.Accounts), "sub": int64(0), "asset": int32(usd)})
		start := time.Now()
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return p, err
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil {
			return p, err
		}
		if n != b.Live {
			return p, fmt.Errorf("account %d has %d rows, not %d", i%b.Accounts, n, b.Live)
		}
		if i >= warmUp {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	p.P50, p.P95 = times[len(times)/2], times[len(times)*95/100]
	var err error
	p.Buffers, err = buffersOf(ctx, conn, read, b)
	return p, err
}

// buffersOf is how many shared buffers one read touches.
func buffersOf(ctx context.Context, conn *pgx.Conn, read string, b ReadBench) (int, error) {
	sql, args := bind(read, named{"id": int64(1), "sub": int64(0), "asset": int32(usd)})
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := conn.QueryRow(ctx, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+sql, args...).Scan(&plans); err != nil {
		return 0, err
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read, nil
}

// WriteReads writes the measurements as a Markdown table, side by side.
func WriteReads(w io.Writer, points []ReadPoint) error {
	if _, err := io.WriteString(w, "| historical postings | read | mutable status p50 / p95 us, buffers | index tables p50 / p95 us, buffers | ratio of p50 |\n|--:|---|--:|--:|--:|\n"); err != nil {
		return err
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	for _, s := range points {
		if s.Encoding != "mutable status" {
			continue
		}
		i := slices.IndexFunc(points, func(p ReadPoint) bool {
			return p.History == s.History && p.Read == s.Read && p.Encoding == "index tables"
		})
		if i < 0 {
			return fmt.Errorf("no measurement of the index tables at %d", s.History)
		}
		x := points[i]
		if _, err := fmt.Fprintf(w, "| %d | %s | %.0f / %.0f, %d | %.0f / %.0f, %d | %.1f |\n", s.History, s.Read,
			us(s.P50), us(s.P95), s.Buffers, us(x.P50), us(x.P95), x.Buffers, us(s.P50)/us(x.P50)); err != nil {
			return err
		}
	}
	return nil
}
