----------------------------- MODULE CommitSaga -----------------------------
(***************************************************************************)
(* The commit saga over one contended posting, with its write-ahead        *)
(* record, crashes, I/O errors, and recovery.  Every saga consumes the     *)
(* same posting and creates one output of its own.                         *)
(*                                                                         *)
(* One action is one primitive of sim/postings, that is one transaction;   *)
(* the repaired variant does s2 and s3 in one, and s7 to s12 in another.   *)
(*                                                                         *)
(* action, pc   Go step (sim/postings)          SQL                        *)
(* Lookup s1    stepLookup                      SELECT transfers           *)
(* SaveRes. s2  stepWriteAhead                  upsert sagas               *)
(* Reserve s3   stepReserve                     DELETE active .. INSERT    *)
(*                                                reserved                 *)
(* Lookup s4    stepRelookup                    SELECT transfers           *)
(* Validate s6  stepLoad, stepValidate          SELECT ..                  *)
(* SaveFin. s7  stepFinalizing                  upsert sagas               *)
(* Consume s8   stepConsume                     DELETE reserved WHERE      *)
(*                                                reservation              *)
(* InsertO. s9  stepCreate                      INSERT postings,           *)
(*                                                active_postings          *)
(* Store s10    stepStore                       INSERT transfers           *)
(* AppendE. s11 stepEvent                       INSERT events              *)
(* DeleteR. s12 stepForget                      DELETE sagas               *)
(* Release c1   p.compensate                    DELETE reserved; INSERT    *)
(*                                                active                   *)
(* GiveUp c2    p.keepRecord, stepForget        DELETE sagas, unless kept  *)
(* IoError      an answer that never comes      none                       *)
(* Crash        sim.StepCrash                   none                       *)
(* Recover      recover, recoverOne             SELECT sagas               *)
(* Freeze       transit of the payee            INSERT accounts            *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Sagas,
    Recoverers,
    Crashes,            \* how many crashes
    Errors,             \* how many primitives may fail with an I/O error
    Exclusive,          \* recovery takes only records that nobody works on; FALSE is the protocol as shipped
    ReleaseFinal,       \* compensation releases inputs in phase Finalizing too, as shipped; FALSE is the repair
    PhaseAfterConsume,  \* mutant Z25
    DeleteAlways,       \* mutant Z26
    OutputsFirst,       \* mutant Z28
    StoreFirst,         \* mutant Z29
    WalLate,            \* mutant Z32
    CountIgnored,       \* mutant Z16
    RecoverJumps,       \* mutant Z41
    RollBackFinal       \* mutant Z42

VARIABLES
    posting,    \* "active", "spent", or the saga that reserved it
    wal,        \* saga -> "none", "R" (Reserving), "F" (Finalizing)
    output,     \* saga -> its output exists
    stored,     \* saga -> its transfer is stored
    event,      \* saga -> its event is stored
    frozen,     \* the payee refuses at validation
    pc,         \* executor -> next primitive; "done", "failed", "crashed", "idle"
    job,        \* executor -> saga it works on
    crashes, errors

vars == <<posting, wal, output, stored, event, frozen, pc, job, crashes, errors>>
db == <<posting, wal, output, stored, event, frozen>>

Workers == {<<"worker", s>> : s \in Sagas}
Executors == Workers \cup {<<"recoverer", r>> : r \in Recoverers}
Live(e) == pc[e] \notin {"done", "failed", "crashed", "idle"}
AtRest == {"done", "failed", "crashed", "idle"}

\* The order of the primitives, which some mutants change.
After(at) ==
    CASE at = "s1"  -> IF WalLate THEN "s3" ELSE "s2"
      [] at = "s2"  -> IF WalLate THEN "s4" ELSE "s3"
      [] at = "s3"  -> IF WalLate THEN "s2" ELSE "s4"
      [] at = "s4"  -> "s6"
      [] at = "s6"  -> IF PhaseAfterConsume THEN "s8" ELSE "s7"
      [] at = "s7"  -> IF PhaseAfterConsume \/ OutputsFirst THEN "s9" ELSE "s8"
      [] at = "s8"  -> IF PhaseAfterConsume THEN "s7" ELSE IF OutputsFirst \/ StoreFirst THEN "s10" ELSE "s9"
      [] at = "s9"  -> IF OutputsFirst THEN "s8" ELSE IF StoreFirst THEN "s11" ELSE "s10"
      [] at = "s10" -> IF StoreFirst THEN "s9" ELSE "s11"
      [] at = "s11" -> "s12"
      [] at = "s12" -> "done"

Go(e, to) == pc' = [pc EXCEPT ![e] = to]
Keep == UNCHANGED <<job, crashes, errors>>

Lookup(e) ==
    /\ pc[e] \in {"s1", "s4"}
    /\ Go(e, IF ~stored[job[e]] THEN After(pc[e]) ELSE IF pc[e] = "s1" THEN "done" ELSE "s11")
    /\ UNCHANGED db /\ Keep

SaveReserving(e) ==
    /\ pc[e] = "s2"
    /\ wal' = [wal EXCEPT ![job[e]] = "R"]
    /\ Go(e, After("s2"))
    /\ UNCHANGED <<posting, output, stored, event, frozen>> /\ Keep

Reserve(e) ==
    LET s == job[e] IN
    /\ pc[e] = "s3"
    /\ posting' = IF posting = "active" THEN s ELSE posting
    /\ Go(e, IF posting \in {"active", s} \/ CountIgnored THEN After("s3") ELSE "c1")
    /\ UNCHANGED <<wal, output, stored, event, frozen>> /\ Keep

\* With inputs spent the saga is past validation: only its own consume can have spent them in phase Finalizing.
Validate(e) ==
    /\ pc[e] = "s6"
    /\ Go(e, IF posting = "spent" \/ ~frozen THEN After("s6") ELSE "c1")
    /\ UNCHANGED db /\ Keep

SaveFinalizing(e) ==
    /\ pc[e] = "s7"
    /\ wal' = [wal EXCEPT ![job[e]] = "F"]
    /\ Go(e, After("s7"))
    /\ UNCHANGED <<posting, output, stored, event, frozen>> /\ Keep

Consume(e) ==
    /\ pc[e] = "s8"
    /\ posting' = IF posting = job[e] THEN "spent" ELSE posting
    /\ Go(e, IF posting \in {job[e], "spent"} THEN After("s8") ELSE "c1")
    /\ UNCHANGED <<wal, output, stored, event, frozen>> /\ Keep

InsertOutputs(e) ==
    /\ pc[e] = "s9"
    /\ output' = [output EXCEPT ![job[e]] = TRUE]
    /\ Go(e, After("s9"))
    /\ UNCHANGED <<posting, wal, stored, event, frozen>> /\ Keep

Store(e) ==
    /\ pc[e] = "s10"
    /\ stored' = [stored EXCEPT ![job[e]] = TRUE]
    /\ Go(e, After("s10"))
    /\ UNCHANGED <<posting, wal, output, event, frozen>> /\ Keep

AppendEvent(e) ==
    /\ pc[e] = "s11"
    /\ event' = [event EXCEPT ![job[e]] = TRUE]
    /\ Go(e, After("s11"))
    /\ UNCHANGED <<posting, wal, output, stored, frozen>> /\ Keep

DeleteRecord(e) ==
    /\ pc[e] = "s12"
    /\ wal' = [wal EXCEPT ![job[e]] = "none"]
    /\ Go(e, After("s12"))
    /\ UNCHANGED <<posting, output, stored, event, frozen>> /\ Keep

Release(e) ==
    /\ pc[e] = "c1"
    /\ posting' = IF posting = job[e] /\ (ReleaseFinal \/ wal[job[e]] # "F") THEN "active" ELSE posting
    /\ Go(e, "c2")
    /\ UNCHANGED <<wal, output, stored, event, frozen>> /\ Keep

GiveUp(e) ==
    /\ pc[e] = "c2"
    /\ wal' = IF wal[job[e]] = "F" /\ ~DeleteAlways /\ ~RollBackFinal THEN wal ELSE [wal EXCEPT ![job[e]] = "none"]
    /\ Go(e, "failed")
    /\ UNCHANGED <<posting, output, stored, event, frozen>> /\ Keep

\* A primitive fails and nothing of it is applied; the saga compensates, unless that is what failed.
IoError(e) ==
    /\ errors < Errors
    /\ pc[e] \in {"s3", "s4", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "c1", "c2"}
    /\ errors' = errors + 1
    /\ \/ pc[e] \notin {"c1", "c2"} /\ Go(e, "c1")
       \/ Go(e, "failed")
    /\ UNCHANGED db /\ UNCHANGED <<job, crashes>>

Crash(e) ==
    /\ crashes < Crashes
    /\ Live(e)
    /\ crashes' = crashes + 1
    /\ Go(e, IF e \in Workers THEN "crashed" ELSE "idle")
    /\ UNCHANGED db /\ UNCHANGED <<job, errors>>

\* A recoverer takes up any record; a worker, started again or told nothing, its own.
Recover(e, s) ==
    /\ e \in Workers => e[2] = s
    /\ ~Live(e)
    /\ wal[s] # "none"
    /\ Exclusive => \A x \in Executors : Live(x) => job[x] # s
    /\ job' = [job EXCEPT ![e] = s]
    /\ Go(e, CASE stored[s] -> "s11"
               [] wal[s] = "F" -> IF RollBackFinal THEN "c1" ELSE "s4"
               [] OTHER -> IF RecoverJumps THEN "s7" ELSE "s3")
    /\ UNCHANGED db /\ UNCHANGED <<crashes, errors>>

Freeze == ~frozen /\ frozen' = TRUE /\ UNCHANGED <<posting, wal, output, stored, event, pc, job, crashes, errors>>

Init ==
    /\ posting = "active"
    /\ wal = [s \in Sagas |-> "none"]
    /\ output = [s \in Sagas |-> FALSE]
    /\ stored = [s \in Sagas |-> FALSE]
    /\ event = [s \in Sagas |-> FALSE]
    /\ frozen = FALSE
    /\ pc = [e \in Executors |-> IF e \in Workers THEN "s1" ELSE "idle"]
    /\ job = [e \in Executors |-> IF e \in Workers THEN e[2] ELSE CHOOSE s \in Sagas : TRUE]
    /\ crashes = 0
    /\ errors = 0

Next ==
    \/ \E e \in Executors :
        \/ Lookup(e) \/ SaveReserving(e) \/ Reserve(e) \/ Validate(e) \/ SaveFinalizing(e) \/ Consume(e)
        \/ InsertOutputs(e) \/ Store(e) \/ AppendEvent(e) \/ DeleteRecord(e) \/ Release(e) \/ GiveUp(e)
        \/ IoError(e) \/ Crash(e)
    \/ \E e \in Executors, s \in Sagas : Recover(e, s)
    \/ Freeze

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ posting \in {"active", "spent"} \cup Sagas
    /\ wal \in [Sagas -> {"none", "R", "F"}]

\* I2: at most one transfer consumes the posting.
NoDoubleSpend == Cardinality({s \in Sagas : stored[s]}) <= 1

\* I1, always: the posting or one output is there, or a saga is between the two; never both, never two outputs.
Conservation ==
    LET live == Cardinality({s \in Sagas : output[s]}) + (IF posting = "spent" THEN 0 ELSE 1) IN
    /\ live <= 1
    /\ live = 0 => \E s \in Sagas : wal[s] = "F"

\* I9: a stored transfer has its effects.
LogMeansEffects == \A s \in Sagas : stored[s] => output[s] /\ posting = "spent"

\* I7: a reservation belongs to a record.
NoOrphan == \A s \in Sagas : posting = s => wal[s] # "none"

\* I10: an event belongs to a stored transfer.
EventMeansTransfer == \A s \in Sagas : event[s] => stored[s]

\* I9, I10 and I3 at rest: nothing runs and no record is left.
Quiet == (\A e \in Executors : ~Live(e)) /\ (\A s \in Sagas : wal[s] = "none")
Settled ==
    Quiet => /\ posting \in {"active", "spent"}
             /\ posting = "spent" <=> \E s \in Sagas : stored[s]
             /\ \A s \in Sagas : output[s] = stored[s] /\ stored[s] = event[s]
=============================================================================
