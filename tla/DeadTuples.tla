----------------------------- MODULE DeadTuples -----------------------------
(***************************************************************************)
(* The dead-tuple contract of the ring control plane: while something pins *)
(* the MVCC horizon, ledger authority makes no dead row version that the   *)
(* horizon holds back, and columns authority makes them one a rotation.    *)
(*                                                                         *)
(* action       Go step (sim/rings)        SQL                             *)
(* Pin          pinned reader              BEGIN ISOLATION LEVEL           *)
(*                                           REPEATABLE READ; SELECT       *)
(* Unpin        pinned reader              COMMIT                          *)
(* RotateC      rotators in columns        UPDATE R_ring_state (and slots) *)
(* RotateL      rotator in ledger          INSERT R_ring_rotations         *)
(* Prune6       0.6.2 queue prune          upsert queue_terminal_rollups   *)
(* Prune7       0.7 queue prune            INSERT .._rollup_deltas         *)
(* FoldLedger   ledger fold                DELETE R_ring_rotations         *)
(* FoldDeltas   delta fold                 DELETE deltas; upsert rollups   *)
(* Flip         flip                       UPDATEs, exempt and once        *)
(* Vacuum       autovacuum                 VACUUM                          *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
    Cap,            \* counters stop here
    Wrap,           \* rows that the ledger keeps after a fold
    FoldStandsDown, \* FALSE is mutant D3: folds delete under a pin
    RotateAppends,  \* FALSE: the ledger rotator updates a row instead of appending one
    PruneAppends    \* FALSE: the 0.7 prune upserts the rollups as 0.6.2 does

VARIABLES
    authority,
    pinned,     \* a snapshot older than the threshold, or an idle transaction that wrote
    dead,       \* table -> dead versions that VACUUM has not taken yet, up to Cap
    ledger,     \* rows of the rotation ledger
    deltas      \* rows of the rollup-delta table

vars == <<authority, pinned, dead, ledger, deltas>>
Tables == {"state", "ledger", "rollups", "deltas"}
Up(n, by) == IF n + by > Cap THEN Cap ELSE n + by
Dies(t, n) == dead' = [dead EXCEPT ![t] = Up(@, n)]

Pin == ~pinned /\ pinned' = TRUE /\ UNCHANGED <<authority, dead, ledger, deltas>>
Unpin == pinned /\ pinned' = FALSE /\ UNCHANGED <<authority, dead, ledger, deltas>>

RotateC ==
    /\ authority = "columns"
    /\ Dies("state", 1)
    /\ ledger' = Up(ledger, 1)
    /\ UNCHANGED <<authority, pinned, deltas>>

RotateL ==
    /\ authority = "ledger"
    /\ ledger' = Up(ledger, 1)
    /\ IF RotateAppends THEN UNCHANGED dead ELSE Dies("state", 1)
    /\ UNCHANGED <<authority, pinned, deltas>>

Prune6 ==
    /\ authority = "columns"
    /\ Dies("rollups", 1)
    /\ UNCHANGED <<authority, pinned, ledger, deltas>>

Prune7 ==
    /\ IF PruneAppends THEN deltas' = Up(deltas, 1) /\ UNCHANGED dead
       ELSE UNCHANGED deltas /\ Dies("rollups", 1)
    /\ UNCHANGED <<authority, pinned, ledger>>

MayFold == FoldStandsDown => ~pinned

FoldLedger ==
    /\ MayFold
    /\ ledger > Wrap
    /\ Dies("ledger", ledger - Wrap)
    /\ ledger' = Wrap
    /\ UNCHANGED <<authority, pinned, deltas>>

FoldDeltas ==
    /\ MayFold
    /\ deltas > 0
    /\ dead' = [dead EXCEPT !["deltas"] = Up(@, deltas), !["rollups"] = Up(@, 1)]
    /\ deltas' = 0
    /\ UNCHANGED <<authority, pinned, ledger>>

Flip ==
    /\ authority = "columns"
    /\ authority' = "ledger"
    /\ Dies("state", 1)
    /\ UNCHANGED <<pinned, ledger, deltas>>

Vacuum ==
    /\ ~pinned
    /\ dead # [t \in Tables |-> 0]
    /\ dead' = [t \in Tables |-> 0]
    /\ UNCHANGED <<authority, pinned, ledger, deltas>>

Init ==
    /\ authority = "columns"
    /\ pinned = FALSE
    /\ dead = [t \in Tables |-> 0]
    /\ ledger = 1
    /\ deltas = 0

Next ==
    Pin \/ Unpin \/ RotateC \/ RotateL \/ Prune6 \/ Prune7 \/ FoldLedger \/ FoldDeltas \/ Flip \/ Vacuum

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ dead \in [Tables -> 0 .. Cap]
    /\ ledger \in 0 .. Cap
    /\ deltas \in 0 .. Cap

\* I-14 and I-15: under a pin, nothing in ledger authority makes a dead version.  That the counters are capped
\* cannot hide one: the step that makes it starts below the cap in some reachable state.
QuietLedger == [][authority = "ledger" /\ authority' = "ledger" /\ pinned => \A t \in Tables : dead'[t] <= dead[t]]_vars

\* I-15: a fold under a pin deletes nothing.
StandDown == [][pinned => ledger' >= ledger /\ deltas' >= deltas]_vars
=============================================================================
