----------------------------- MODULE RingCursor -----------------------------
(***************************************************************************)
(* One ring's cursor and data: rotation in both authorities by 0.6.2 and   *)
(* 0.7, the flip, prune, the fold of the ledger, writers that read the     *)
(* cursor in one statement and insert in a later one, and generations that *)
(* reuse a slot one lap later.                                             *)
(*                                                                         *)
(* One action is one commit (the serializer lets at most one ring          *)
(* transaction in, see RingLockOrder), except for writers, whose cursor    *)
(* read and insert are separate because nothing protects what is between.  *)
(*                                                                         *)
(* action       Go step (sim/rings)             SQL                        *)
(* Rotate6      oldRotate                       UPDATE R_ring_state;       *)
(*                                                UPDATE queue_ring_slots  *)
(* Rotate7c     compatRotate, backfill          UPDATE R_ring_state,       *)
(*                                                R_ring_slots; INSERT     *)
(*                                                R_ring_rotations         *)
(* Rotate7l     ledgerRotate                    INSERT R_ring_rotations    *)
(*                                                ON CONFLICT DO NOTHING   *)
(* Flip         flipRings, flipSwitch           reconcile, verify, poison  *)
(* Route        oldRoute, databaseRoute         SELECT cursor              *)
(* Insert       enqueue "insert ready row"      INSERT child; COMMIT       *)
(* Finish       completeCompact, completeRow    INSERT what shows the end  *)
(* Prune6       oldPickQueue, emptyQueueSlot    LOCK TABLE; TRUNCATE       *)
(* Prune7       pruneTarget, emptyQueueSlot     LOCK TABLE; TRUNCATE       *)
(* Fold         foldLedgers                     DELETE R_ring_rotations    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    N,                  \* slots of the ring
    MaxGen,             \* rotations explored
    StartGen,           \* generation at the start; as after an upgrade the ledger has it and genesis, and nothing between
    StartRows,          \* rows at the start: NoRows or FullRing
    Jobs,
    Writers,
    Reconcile,          \* FALSE is mutant A2: the flip promotes the ledger as it is
    Fence,              \* FALSE is mutant A4: no trigger against old-style cursor advances
    PoisonSlots,        \* FALSE is mutant A5: the per-slot generations survive the flip
    BusyCheck,          \* FALSE is mutant B3: rotate without probing the next slot
    Stamp,              \* FALSE is mutant B8: compat rotations do not stamp the slot row
    FoldKeeps,          \* generations that the fold keeps; N as designed, less is mutant D5
    WholeChildGuard,    \* FALSE: prune looks for pending rows of its own generation only (as shipped)
    RouteFresh          \* TRUE: writers insert before the ring moves on; FALSE: they may be late, as nothing holds the ring

VARIABLES
    authority,
    cols,               \* <<slot, generation>> of the singleton; <<-1, -1>> is the poison
    ledger,             \* set of generations; the slot of g is g % N
    slotGen,            \* 0.6.2's prune metadata: slot -> generation it was opened with, -1 for none
    rows,               \* set of [job, slot, gen, done]
    route,              \* writer -> <<slot, generation>> that it read, or <<>>
    pruned              \* jobs whose done row was truncated and counted

vars == <<authority, cols, ledger, slotGen, rows, route, pruned>>

Slots == 0 .. N - 1
None == <<>>
Poison == <<-1, -1>>
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Next(c) == <<(c[1] + 1) % N, c[2] + 1>>
LedgerCursor == <<Max(ledger) % N, Max(ledger)>>
Cursor == IF authority = "columns" THEN cols ELSE LedgerCursor

NoRows == {}
\* A ring that has been round: the open slot holds a ready job, the others finished ones.
FullRing == {[job |-> g, slot |-> g % N, gen |-> g, done |-> g < StartGen] : g \in 1 .. StartGen}

Empty(s) == \A r \in rows : r.slot # s
MayOpen(s) == BusyCheck => Empty(s)
Used == {r.job : r \in rows} \cup pruned

-----------------------------------------------------------------------------
\* 0.6.2 reads the columns, whatever the authority; the fence lets it change nothing after the flip.
Rotate6 ==
    LET next == Next(cols) IN
    /\ next[2] <= MaxGen
    /\ MayOpen(next[1])
    /\ Fence => authority = "columns"
    /\ cols' = next
    /\ slotGen' = [slotGen EXCEPT ![next[1]] = next[2]]
    /\ UNCHANGED <<authority, ledger, rows, route, pruned>>

Rotate7c ==
    LET next == Next(cols) IN
    /\ authority = "columns"
    /\ next[2] <= MaxGen
    /\ MayOpen(next[1])
    /\ cols' = next
    /\ slotGen' = IF Stamp THEN [slotGen EXCEPT ![next[1]] = next[2]] ELSE slotGen
    /\ ledger' = ledger \cup (Max(ledger) + 1 .. next[2])
    /\ UNCHANGED <<authority, rows, route, pruned>>

Rotate7l ==
    LET next == Next(LedgerCursor) IN
    /\ authority = "ledger"
    /\ next[2] <= MaxGen
    /\ MayOpen(next[1])
    /\ ledger' = ledger \cup {next[2]}
    /\ UNCHANGED <<authority, cols, slotGen, rows, route, pruned>>

Flip ==
    /\ authority = "columns"
    /\ authority' = "ledger"
    /\ ledger' = IF Reconcile THEN ledger \cup (Max(ledger) + 1 .. cols[2]) ELSE ledger
    /\ cols' = Poison
    /\ slotGen' = IF PoisonSlots THEN [s \in Slots |-> -1] ELSE slotGen
    /\ UNCHANGED <<rows, route, pruned>>

Route(w) ==
    /\ route[w] = None
    /\ \E j \in Jobs : j \notin Used
    /\ route' = [route EXCEPT ![w] = Cursor]
    /\ UNCHANGED <<authority, cols, ledger, slotGen, rows, pruned>>

\* Slot -1 has no partition: the insert of a writer that read the poison fails (23514).
Insert(w) ==
    /\ route[w] # None
    /\ RouteFresh => route[w] = Cursor
    /\ \E j \in Jobs :
        /\ j \notin Used
        /\ \A k \in Jobs : k < j => k \in Used       \* jobs are alike: take them in order
        /\ rows' = rows \cup {[job |-> j, slot |-> route[w][1], gen |-> route[w][2], done |-> FALSE]}
    /\ route' = [route EXCEPT ![w] = None]
    /\ UNCHANGED <<authority, cols, ledger, slotGen, pruned>>

Finish ==
    \E r \in rows :
        /\ ~r.done
        /\ rows' = (rows \ {r}) \cup {[r EXCEPT !.done = TRUE]}
        /\ UNCHANGED <<authority, cols, ledger, slotGen, route, pruned>>

\* Truncates slot s, which was opened with generation g, if the proofs hold; done rows go into the counts.
Truncate(s, g) ==
    /\ ~Empty(s)
    /\ \A r \in rows : r.slot = s /\ (WholeChildGuard \/ r.gen = g) => r.done
    /\ rows' = {r \in rows : r.slot # s}
    /\ pruned' = pruned \cup {r.job : r \in {q \in rows : q.slot = s /\ q.done}}
    /\ UNCHANGED <<authority, cols, ledger, slotGen, route>>

Prune7 ==
    LET c == Cursor
        initialised == IF c[2] + 1 < N THEN c[2] + 1 ELSE N
    IN  /\ initialised > 1
        /\ Truncate((c[1] + N - (initialised - 1)) % N, c[2] - (initialised - 1))

Prune6 ==
    \E s \in Slots :
        /\ s # cols[1]
        /\ slotGen[s] >= 0
        /\ \A t \in Slots : t # cols[1] /\ slotGen[t] >= 0 => slotGen[s] <= slotGen[t]
        /\ Truncate(s, slotGen[s])

Fold ==
    LET kept == {g \in ledger : g > Max(ledger) - FoldKeeps} IN
    /\ kept # ledger
    /\ ledger' = kept
    /\ UNCHANGED <<authority, cols, slotGen, rows, route, pruned>>

Init ==
    /\ authority = "columns"
    /\ cols = <<StartGen % N, StartGen>>
    /\ ledger = {0, StartGen}
    /\ slotGen = [s \in Slots |-> IF s <= StartGen THEN StartGen - ((StartGen - s) % N) ELSE -1]
    /\ rows = StartRows
    /\ route = [w \in Writers |-> None]
    /\ pruned = {}

NextStep ==
    \/ Rotate6 \/ Rotate7c \/ Rotate7l \/ Flip
    \/ \E w \in Writers : Route(w)
    \/ \E w \in Writers : Insert(w)
    \/ Finish \/ Prune6 \/ Prune7 \/ Fold

Spec == Init /\ [][NextStep]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ authority \in {"columns", "ledger"}
    /\ cols \in (Slots \X (0 .. MaxGen)) \cup {Poison}
    /\ ledger \subseteq 0 .. MaxGen /\ ledger # {}
    /\ slotGen \in [Slots -> -1 .. MaxGen]
    /\ \A r \in rows : r.slot \in Slots /\ r.gen \in 0 .. MaxGen

\* I-5: slot and generation go in lock-step.
Lockstep == authority = "columns" => cols[1] = cols[2] % N

\* I-12: in columns mode the ledger never runs ahead.
Shadow == authority = "columns" => Max(ledger) <= cols[2]

\* I-18: after the flip nothing moves the columns.
Fenced == authority = "ledger" => cols = Poison

\* I-7: no job that was accepted and not finished is truncated.  A job that is neither a row nor counted is one
\* that was never inserted, so the loss is told by the step that makes it.
NoLoss == [][\A r \in rows : ~r.done => \E q \in rows' : q.job = r.job]_vars

\* I-6: the open slot is never truncated.
OpenSlotSafe == [][\A r \in rows : r.slot = Cursor[1] => \E q \in rows' : q.job = r.job]_vars

\* I-4: the authoritative generation never falls and steps by one.
NoSkip == [][Cursor'[2] \in {Cursor[2], Cursor[2] + 1}]_vars

\* I-9: a slot is opened empty.
EmptyTarget == [][Cursor' # Cursor => \A r \in rows : r.slot # Cursor'[1]]_vars

\* I-11: after a fold the last N generations that the ledger had are there still, and so is the cursor.
Retention == [][ledger' \subseteq ledger => {g \in ledger : g > Max(ledger) - N} \subseteq ledger']_vars

OneWay == [][authority = "ledger" => authority' = "ledger"]_vars
=============================================================================
