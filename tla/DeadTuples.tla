----------------------------- MODULE DeadTuples -----------------------------
(***************************************************************************)
(* The dead-tuple contract of the ring control plane: while something pins *)
(* the MVCC horizon, ledger authority makes no dead row version that the   *)
(* horizon holds back, and columns authority makes them one a rotation.    *)
(*                                                                         *)
(* action       Go step (sim/rings)        SQL                             *)
(* Pin          pinnedReader               BEGIN ISOLATION LEVEL           *)
(*                                           REPEATABLE READ; SELECT; 5 s  *)
(* Unpin        pinnedReader               COMMIT                          *)
(* RotateC      compatRotate, oldRotate    UPDATE R_ring_state; 0.7 also   *)
(*                                           INSERT R_ring_rotations       *)
(* RotateL      ledgerRotate               INSERT R_ring_rotations         *)
(* Prune6       recordRollups              upsert queue_terminal_rollups   *)
(* Prune7       recordDeltas               INSERT .._rollup_deltas         *)
(* Probe        standDown                  SELECT .. FROM pg_stat_activity *)
(* FoldLedger   foldLedgers                DELETE R_ring_rotations         *)
(* FoldDeltas   foldDeltas                 DELETE deltas; upsert rollups   *)
(* Leave        folder                     COMMIT or ROLLBACK              *)
(* Flip         flip                       UPDATE R_ring_state; INSERT     *)
(*                                           R_ring_rotations; exempt, once*)
(* Vacuum       autovacuum                 VACUUM                          *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
    Cap,            \* dead versions of a table are counted up to it
    MaxRows,        \* rows of the ledger and of the deltas explored
    Wrap,           \* rows that the ledger keeps after a fold
    FoldStandsDown, \* FALSE is mutant D3: folds delete without asking who pins
    RotateAppends,  \* FALSE: the ledger rotator updates a row instead of appending one
    PruneAppends    \* FALSE: the 0.7 prune upserts the rollups as 0.6.2 does

VARIABLES
    authority,
    pinned,     \* a snapshot older than the threshold is held
    probed,     \* a fold has found nothing pinned and has not ended yet
    dead,       \* table -> dead versions that VACUUM has not taken yet, up to Cap
    ledger,     \* rows of the rotation ledger
    deltas      \* rows of the rollup-delta table

vars == <<authority, pinned, probed, dead, ledger, deltas>>
Tables == {"state", "ledger", "rollups", "deltas"}
Up(n, by) == IF n + by > Cap THEN Cap ELSE n + by
Dies(t, n) == dead' = [dead EXCEPT ![t] = Up(@, n)]

Pin == ~pinned /\ pinned' = TRUE /\ UNCHANGED <<authority, probed, dead, ledger, deltas>>
Unpin == pinned /\ pinned' = FALSE /\ UNCHANGED <<authority, probed, dead, ledger, deltas>>

\* 0.6.2 leaves the ledger alone; the next rotation of 0.7, or the flip, appends what it left out.
RotateC ==
    /\ authority = "columns"
    /\ Dies("state", 1)
    /\ ledger' \in ledger .. MaxRows
    /\ UNCHANGED <<authority, pinned, probed, deltas>>

RotateL ==
    /\ authority = "ledger"
    /\ ledger < MaxRows
    /\ ledger' = ledger + 1
    /\ IF RotateAppends THEN UNCHANGED dead ELSE Dies("state", 1)
    /\ UNCHANGED <<authority, pinned, probed, deltas>>

Prune6 ==
    /\ authority = "columns"
    /\ Dies("rollups", 1)
    /\ UNCHANGED <<authority, pinned, probed, ledger, deltas>>

Prune7 ==
    /\ IF PruneAppends THEN deltas < MaxRows /\ deltas' = deltas + 1 /\ UNCHANGED dead
       ELSE UNCHANGED deltas /\ Dies("rollups", 1)
    /\ UNCHANGED <<authority, pinned, probed, ledger>>

\* A fold asks who pins the horizon in one statement and deletes in a later one, in the same transaction.
Probe ==
    /\ ~probed
    /\ ~pinned
    /\ probed' = TRUE
    /\ UNCHANGED <<authority, pinned, dead, ledger, deltas>>

MayFold == FoldStandsDown => probed

FoldLedger ==
    /\ MayFold
    /\ \E kept \in 1 .. Wrap :     \* fewer than Wrap where an upgrade has left a gap
        /\ kept < ledger
        /\ ledger' = kept
        /\ Dies("ledger", ledger - kept)
    /\ probed' = FALSE
    /\ UNCHANGED <<authority, pinned, deltas>>

FoldDeltas ==
    /\ MayFold
    /\ deltas > 0
    /\ dead' = [dead EXCEPT !["deltas"] = Up(@, deltas), !["rollups"] = Up(@, 1)]
    /\ deltas' = 0
    /\ probed' = FALSE
    /\ UNCHANGED <<authority, pinned, ledger>>

\* Nothing to fold, or rolled back.
Leave == probed /\ probed' = FALSE /\ UNCHANGED <<authority, pinned, dead, ledger, deltas>>

Flip ==
    /\ authority = "columns"
    /\ authority' = "ledger"
    /\ Dies("state", 1)
    /\ ledger' \in ledger .. MaxRows
    /\ UNCHANGED <<pinned, probed, deltas>>

Vacuum ==
    /\ ~pinned
    /\ dead # [t \in Tables |-> 0]
    /\ dead' = [t \in Tables |-> 0]
    /\ UNCHANGED <<authority, pinned, probed, ledger, deltas>>

Init ==
    /\ authority = "columns"
    /\ pinned = FALSE
    /\ probed = FALSE
    /\ dead = [t \in Tables |-> 0]
    /\ ledger = 1
    /\ deltas = 0

Next ==
    \/ Pin \/ Unpin \/ RotateC \/ RotateL \/ Prune6 \/ Prune7 \/ Probe \/ FoldLedger \/ FoldDeltas \/ Leave
    \/ Flip \/ Vacuum

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ dead \in [Tables -> 0 .. Cap]
    /\ ledger \in 0 .. MaxRows
    /\ deltas \in 0 .. MaxRows

\* I-14 and I-15: under a pin, nothing in ledger authority makes a dead version, except one fold that had asked before
\* the pin was there: between its two statements nothing keeps a pin away.  That the counters are capped cannot hide
\* one: the step that makes it starts below the cap in some reachable state.
QuietLedger ==
    [][authority = "ledger" /\ authority' = "ledger" /\ pinned /\ ~probed => \A t \in Tables : dead'[t] <= dead[t]]_vars

\* I-15: a fold that begins under a pin deletes nothing.
StandDown == [][pinned /\ ~probed => ledger' >= ledger /\ deltas' >= deltas]_vars
=============================================================================
