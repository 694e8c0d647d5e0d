--------------------------- MODULE RingLockOrder ---------------------------
(***************************************************************************)
(* Lock order of the ring-rotation system under a mixed fleet: 0.6.2 and   *)
(* 0.7 rotators, 0.7 pruners, and the flip from columns to ledger.         *)
(*                                                                         *)
(* One action is one SQL statement that takes a lock or samples the        *)
(* authority; statements that only read are stutters.  What an actor does  *)
(* next follows from the locks it holds and the mode it sampled, so there  *)
(* is no program counter: a state is what a server could be asked for.     *)
(*                                                                         *)
(* action       Go step (sim/rings)             SQL                        *)
(* LockState    gate, oldRotate "lock cursor"   SELECT .. R_ring_state     *)
(*                                                FOR UPDATE               *)
(* Sample       gate "read authority"           SELECT authority           *)
(* TryAdvisory  gate "try advisory lock"        pg_try_advisory_xact_lock  *)
(* Probe        probeNextLocked, probeNext      LOCK TABLE child IN SHARE  *)
(*                                                MODE; SELECT EXISTS(..)  *)
(* LockSlot     pickOldest; "stamp slot"        SELECT .. FOR UPDATE;      *)
(*                                                UPDATE R_ring_slots      *)
(* LockChild    lockChildren                    LOCK TABLE child IN        *)
(*                                                ACCESS EXCLUSIVE MODE    *)
(* Finish       transact, of every actor        COMMIT or ROLLBACK         *)
(* FlipLock     flipLocks                       SELECT .. R_ring_state     *)
(*                                                FOR UPDATE               *)
(* FlipSlot     flipSwitch "poison slots"       UPDATE R_ring_slots        *)
(* FlipCommit   flipSwitch, transact            UPDATE authority; COMMIT   *)
(* FlipLeave    flip refused, or crashed        COMMIT or ROLLBACK         *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Rotators6,      \* rings with a 0.6.2 rotator
    Rotators7,      \* rings with a 0.7 rotator
    Rotators7b,     \* rings with a second one, "r7b"
    Pruners7,       \* rings with a 0.7 pruner
    FlipLocks,      \* rings whose singletons the flip locks
    SampleFirst,    \* mutant A1: 0.7 actors sample the authority, then lock
    ChildFirst,     \* mutant C13: the pruner locks the child before its singleton
    AdvisoryOnly    \* mutant B9: 0.7 actors do not take the singleton in columns mode

Rings == {"queue", "lease", "claim"}
Order == [queue |-> 1, lease |-> 2, claim |-> 3]

Actors == ({"r6"} \X Rotators6) \cup ({"r7"} \X Rotators7) \cup ({"r7b"} \X Rotators7b)
              \cup ({"p7"} \X Pruners7) \cup {<<"flip", "all">>}
Flip == <<"flip", "all">>
Kind(a) == a[1]
Ring(a) == a[2]
Seven(a) == Kind(a) \in {"r7", "r7b", "p7"}
Rotates(a) == Kind(a) \in {"r6", "r7", "r7b"}

Resources == {"state", "advisory", "slot", "child"} \X Rings

VARIABLES
    authority,      \* "columns" or "ledger", as committed
    held,           \* resource -> set of <<actor, "S" or "X">>
    mode            \* actor -> discipline it works under, "none" before it knows

vars == <<authority, held, mode>>

-----------------------------------------------------------------------------
HasAny(a) == \E r \in Resources : \E m \in {"S", "X"} : <<a, m>> \in held[r]
Has(a, r) == \E m \in {"S", "X"} : <<a, m>> \in held[r]

Conflicts(a, r, m) ==
    \E h \in held[r] : h[1] # a /\ (m = "X" \/ h[2] = "X")

Take(a, r, m) ==
    /\ ~Has(a, r)
    /\ ~Conflicts(a, r, m)
    /\ held' = [held EXCEPT ![r] = @ \cup {<<a, m>>}]

StateOf(a) == <<"state", Ring(a)>>

\* An actor of 0.7 in columns mode relies on the singleton alone, unless the mutant takes it away.
NeedsState(a) == ~(AdvisoryOnly /\ Seven(a))

\* The gate is passed: the serializer of the discipline is held and the discipline known.
GatePassed(a) ==
    /\ mode[a] # "none"
    /\ NeedsState(a) => Has(a, StateOf(a))
    /\ (Seven(a) /\ (mode[a] = "ledger" \/ AdvisoryOnly)) => Has(a, <<"advisory", Ring(a)>>)

LockState(a) ==
    /\ a # Flip
    /\ NeedsState(a)
    /\ (SampleFirst /\ Seven(a)) => mode[a] # "none"
    /\ ~(SampleFirst /\ Seven(a)) => mode[a] = "none"
    /\ (ChildFirst /\ Kind(a) = "p7") => Has(a, <<"child", Ring(a)>>)
    /\ Take(a, StateOf(a), "X")
    \* 0.6.2 knows columns only; after the flip the row that it locks holds the poison (-1, -1).
    /\ mode' = IF Kind(a) # "r6" THEN mode
               ELSE [mode EXCEPT ![a] = IF authority = "columns" THEN "columns" ELSE "poison"]
    /\ UNCHANGED authority

Sample(a) ==
    /\ Seven(a)
    /\ mode[a] = "none"
    /\ (NeedsState(a) /\ ~SampleFirst) => Has(a, StateOf(a))
    /\ mode' = [mode EXCEPT ![a] = authority]
    /\ UNCHANGED <<authority, held>>

TryAdvisory(a) ==
    /\ Seven(a)
    /\ mode[a] = "ledger" \/ (AdvisoryOnly /\ mode[a] # "none")
    /\ NeedsState(a) => Has(a, StateOf(a))
    /\ Take(a, <<"advisory", Ring(a)>>, "X")
    /\ UNCHANGED <<authority, mode>>

Probe(a) ==
    /\ Rotates(a)
    /\ GatePassed(a)
    /\ Take(a, <<"child", Ring(a)>>, "S")
    /\ UNCHANGED <<authority, mode>>

\* Pruners lock the slot row before the children; compat rotators stamp it last.
LockSlot(a) ==
    /\ a # Flip
    /\ GatePassed(a)
    /\ Rotates(a) => mode[a] = "columns" /\ Has(a, <<"child", Ring(a)>>)
    /\ Kind(a) = "r6" => Ring(a) = "queue"     \* 0.6.2 stamps the queue ring's slots only
    /\ Take(a, <<"slot", Ring(a)>>, "X")
    /\ UNCHANGED <<authority, mode>>

LockChild(a) ==
    /\ Kind(a) = "p7"
    /\ IF ChildFirst THEN ~HasAny(a) ELSE GatePassed(a) /\ Has(a, <<"slot", Ring(a)>>)
    /\ Take(a, <<"child", Ring(a)>>, "X")
    /\ UNCHANGED <<authority, mode>>

Release(a) == [r \in Resources |-> {h \in held[r] : h[1] # a}]

\* Commit, or roll back after a lost try-lock, a lock_timeout, a busy slot or a crash.
Finish(a) ==
    /\ a # Flip
    /\ HasAny(a) \/ mode[a] # "none"
    /\ held' = Release(a)
    /\ mode' = [mode EXCEPT ![a] = "none"]
    /\ UNCHANGED authority

FlipLock(r) ==
    /\ r \in FlipLocks
    /\ \A q \in FlipLocks : Order[q] < Order[r] => Has(Flip, <<"state", q>>)
    /\ Take(Flip, <<"state", r>>, "X")
    /\ UNCHANGED <<authority, mode>>

FlipAllLocked == \A r \in FlipLocks : Has(Flip, <<"state", r>>)

\* The flip stamps every slot row, which it must not wait for once it has the singletons.
FlipSlot(r) ==
    /\ FlipAllLocked
    /\ authority = "columns"
    /\ \A q \in Rings : Order[q] < Order[r] => Has(Flip, <<"slot", q>>)
    /\ Take(Flip, <<"slot", r>>, "X")
    /\ UNCHANGED <<authority, mode>>

FlipCommit ==
    /\ FlipAllLocked
    /\ \A r \in Rings : Has(Flip, <<"slot", r>>)
    /\ authority' = "ledger"
    /\ held' = Release(Flip)
    /\ UNCHANGED mode

\* A flip that finds the ledger already in force, is refused, or crashes.
FlipLeave ==
    /\ HasAny(Flip)
    /\ held' = Release(Flip)
    /\ UNCHANGED <<authority, mode>>

Init ==
    /\ authority = "columns"
    /\ held = [r \in Resources |-> {}]
    /\ mode = [a \in Actors |-> "none"]

Next ==
    \/ \E a \in Actors : LockState(a)
    \/ \E a \in Actors : Sample(a)
    \/ \E a \in Actors : TryAdvisory(a)
    \/ \E a \in Actors : Probe(a)
    \/ \E a \in Actors : LockSlot(a)
    \/ \E a \in Actors : LockChild(a)
    \/ \E a \in Actors : Finish(a)
    \/ \E r \in Rings : FlipLock(r)
    \/ \E r \in Rings : FlipSlot(r)
    \/ FlipCommit
    \/ FlipLeave

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ authority \in {"columns", "ledger"}
    /\ held \in [Resources -> SUBSET (Actors \X {"S", "X"})]
    /\ mode \in [Actors -> {"none", "columns", "ledger", "poison"}]

LockCompatibility ==
    \A r \in Resources : \A g, h \in held[r] : g[1] # h[1] => g[2] = "S" /\ h[2] = "S"

\* I-1 (a): never two ring transactions past their gates, one under columns and one under ledger.
MixedFleet ==
    \A a, b \in Actors \ {Flip} :
        GatePassed(a) /\ GatePassed(b) /\ "poison" \notin {mode[a], mode[b]} => mode[a] = mode[b]

\* I-1 (b): whoever may advance a ring works under the discipline in force.
ModeInForce ==
    \A a \in Actors \ {Flip} :
        GatePassed(a) => mode[a] = IF Kind(a) = "r6" /\ authority = "ledger" THEN "poison" ELSE authority

\* Per ring, at most one actor is past its gate: rotate, prune and flip exclude each other.
OneAtATime ==
    \A a, b \in Actors \ {Flip} :
        a # b /\ Ring(a) = Ring(b) => ~(GatePassed(a) /\ GatePassed(b))

\* What an actor would wait for if it took its next step now.
Wants(a) ==
    IF a = Flip
    THEN {<<"state", r>> : r \in {q \in FlipLocks : ~Has(a, <<"state", q>>) /\
                                  \A p \in FlipLocks : Order[p] < Order[q] => Has(a, <<"state", p>>)}}
         \cup {<<"slot", r>> : r \in {q \in Rings : FlipAllLocked /\ ~Has(a, <<"slot", q>>) /\
                                  \A p \in Rings : Order[p] < Order[q] => Has(a, <<"slot", p>>)}}
    ELSE IF Kind(a) = "p7" /\ ChildFirst
    THEN IF ~Has(a, <<"child", Ring(a)>>) THEN {<<"child", Ring(a)>>}
         ELSE IF ~Has(a, StateOf(a)) THEN {StateOf(a)}
         ELSE IF GatePassed(a) /\ ~Has(a, <<"slot", Ring(a)>>) THEN {<<"slot", Ring(a)>>} ELSE {}
    ELSE IF NeedsState(a) /\ ~Has(a, StateOf(a)) THEN {StateOf(a)}
    ELSE IF ~GatePassed(a) THEN {}
    ELSE IF Kind(a) = "p7"
    THEN IF ~Has(a, <<"slot", Ring(a)>>) THEN {<<"slot", Ring(a)>>}
         ELSE IF ~Has(a, <<"child", Ring(a)>>) THEN {<<"child", Ring(a)>>} ELSE {}
    ELSE IF ~Has(a, <<"child", Ring(a)>>) THEN {<<"child", Ring(a)>>}
    ELSE IF mode[a] = "columns" /\ (Kind(a) # "r6" \/ Ring(a) = "queue") /\ ~Has(a, <<"slot", Ring(a)>>)
    THEN {<<"slot", Ring(a)>>} ELSE {}

\* The mode that a wanted resource would be locked in: probes share, all else is exclusive.
WantMode(a, r) == IF r[1] = "child" /\ Kind(a) # "p7" THEN "S" ELSE "X"

WaitsFor(a) ==
    {b \in Actors : b # a /\ \E r \in Wants(a) : \E m \in {"S", "X"} :
        <<b, m>> \in held[r] /\ (m = "X" \/ WantMode(a, r) = "X")}

\* Waiting actors wait for at most three others in a row: a longer chain would need more locks held while waiting.
RECURSIVE Reach(_, _, _)
Reach(W, S, n) == IF n = 0 THEN S ELSE Reach(W, S \cup UNION {W[b] : b \in S}, n - 1)

\* I-2: the waits-for graph is acyclic.
NoDeadlock ==
    LET W == [a \in Actors |-> WaitsFor(a)]
    IN  \A a \in Actors : W[a] = {} \/ a \notin Reach(W, W[a], 3)

\* I-17: the authority never goes back.
OneWay == [][authority = "ledger" => authority' = "ledger"]_vars
=============================================================================
