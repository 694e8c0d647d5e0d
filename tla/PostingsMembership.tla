------------------------- MODULE PostingsMembership -------------------------
(***************************************************************************)
(* A posting's state is where its id is: in active, in reserved with the   *)
(* reservation of a saga, in neither (spent), or nowhere (missing).        *)
(*                                                                         *)
(* One action is one transaction of a primitive over a batch of ids, as    *)
(* the delete-first encoding makes it; the mutants split or weaken them.   *)
(*                                                                         *)
(* action       Go step (sim/postings)          SQL                        *)
(* Create       insertion, of stepCreate        INSERT postings ON         *)
(*                                                CONFLICT ..; INSERT      *)
(*                                                active_postings          *)
(* Reserve      reserve, of stepReserve         WITH d AS (DELETE active   *)
(*                and stepClaim                   ..) INSERT reserved      *)
(* Release      release, of releaseAll          DELETE reserved WHERE      *)
(*                and abort                       reservation; INSERT ..   *)
(* Consume      consume, of stepConsume         DELETE reserved WHERE      *)
(*                and finalize                    reservation              *)
(* Look, Take   mutant Z03: reserveCheckThenAct SELECT; INSERT; DELETE     *)
(* Lift, Land   mutant Z05: reserveApart        DELETE; INSERT, two commits*)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Postings,
    Sagas,
    CheckThenAct,       \* mutant Z03
    Steals,             \* mutant Z04: reserve takes what another saga holds
    NotAtomic,          \* mutant Z05: delete and insert in two transactions, with a crash possible between
    ReleaseIgnoresRid,  \* mutant Z09
    ConsumeIgnoresRid,  \* mutant Z10
    ReleaseRevives,     \* mutant Z13: release makes active whatever postings has
    Ungated             \* mutant Z08: a replayed insert always activates

None == "none"

VARIABLES
    postings,   \* ids that exist, for ever
    active,
    reserved,   \* posting -> saga, or None
    looked,     \* saga -> posting that it has seen active (Z03), or None
    lifted,     \* saga -> posting between its two tables (Z05), or None
    won,        \* posting -> sagas that were told that their reserve won and have not given it back
    consumed    \* posting -> sagas that consumed it

vars == <<postings, active, reserved, looked, lifted, won, consumed>>

\* A primitive takes a batch of ids, in one transaction: those that do not match are left out of it.
Create(B) ==
    /\ \A p \in B : p \notin postings \/ (Ungated /\ p \notin active)
    /\ postings' = postings \cup B
    /\ active' = active \cup B
    /\ UNCHANGED <<reserved, looked, lifted, won, consumed>>

Win(s, B) == won' = [p \in Postings |-> IF p \in B THEN won[p] \cup {s} ELSE won[p]]
Holds(B, s) == [p \in Postings |-> IF p \in B THEN s ELSE reserved[p]]

Reserve(s, B) ==
    /\ ~CheckThenAct /\ ~NotAtomic
    /\ \A p \in B : p \in active \/ (Steals /\ reserved[p] \notin {None, s})
    /\ active' = active \ B
    /\ reserved' = Holds(B, s)
    /\ Win(s, B)
    /\ UNCHANGED <<postings, looked, lifted, consumed>>

Look(s, p) ==
    /\ CheckThenAct
    /\ looked[s] = None
    /\ p \in active
    /\ looked' = [looked EXCEPT ![s] = p]
    /\ UNCHANGED <<postings, active, reserved, lifted, won, consumed>>

Take(s) ==
    /\ looked[s] # None
    /\ active' = active \ {looked[s]}
    /\ reserved' = [reserved EXCEPT ![looked[s]] = s]
    /\ Win(s, {looked[s]})
    /\ looked' = [looked EXCEPT ![s] = None]
    /\ UNCHANGED <<postings, lifted, consumed>>

Lift(s, p) ==
    /\ NotAtomic
    /\ lifted[s] = None
    /\ p \in active
    /\ active' = active \ {p}
    /\ lifted' = [lifted EXCEPT ![s] = p]
    /\ UNCHANGED <<postings, reserved, looked, won, consumed>>

Land(s) ==
    /\ lifted[s] # None
    /\ reserved' = [reserved EXCEPT ![lifted[s]] = s]
    /\ Win(s, {lifted[s]})
    /\ lifted' = [lifted EXCEPT ![s] = None]
    /\ UNCHANGED <<postings, active, looked, consumed>>

Release(s, B) ==
    /\ \A p \in B : IF ReleaseRevives THEN p \in postings /\ p \notin active
                    ELSE reserved[p] = s \/ (ReleaseIgnoresRid /\ reserved[p] # None)
    /\ active' = active \cup B
    /\ reserved' = Holds(B, None)
    /\ won' = [p \in Postings |-> IF p \in B THEN won[p] \ {s} ELSE won[p]]
    /\ UNCHANGED <<postings, looked, lifted, consumed>>

Consume(s, B) ==
    /\ \A p \in B : reserved[p] = s \/ (ConsumeIgnoresRid /\ reserved[p] # None)
    /\ reserved' = Holds(B, None)
    /\ consumed' = [p \in Postings |-> IF p \in B THEN consumed[p] \cup {s} ELSE consumed[p]]
    /\ won' = [p \in Postings |-> IF p \in B THEN won[p] \ {s} ELSE won[p]]
    /\ UNCHANGED <<postings, active, looked, lifted>>

Init ==
    /\ postings = {}
    /\ active = {}
    /\ reserved = [p \in Postings |-> None]
    /\ looked = [s \in Sagas |-> None]
    /\ lifted = [s \in Sagas |-> None]
    /\ won = [p \in Postings |-> {}]
    /\ consumed = [p \in Postings |-> {}]

Batches == (SUBSET Postings) \ {{}}

Next ==
    \/ \E B \in Batches : Create(B)
    \/ \E s \in Sagas, B \in Batches : Reserve(s, B)
    \/ \E s \in Sagas, p \in Postings : Look(s, p)
    \/ \E s \in Sagas : Take(s)
    \/ \E s \in Sagas, p \in Postings : Lift(s, p)
    \/ \E s \in Sagas : Land(s)
    \/ \E s \in Sagas, B \in Batches : Release(s, B)
    \/ \E s \in Sagas, B \in Batches : Consume(s, B)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ active \subseteq Postings
    /\ reserved \in [Postings -> Sagas \cup {None}]

\* I5: exactly one state.
OneState == \A p \in Postings : (p \in active => reserved[p] = None) /\ (p \in active \/ reserved[p] # None => p \in postings)

\* I6: whoever was told that it won holds the posting until it gives it back or spends it.
Owner == \A p \in Postings : \A s \in won[p] : reserved[p] = s

\* I2: no posting is consumed by two sagas.
NoDoubleSpend == \A p \in Postings : Cardinality(consumed[p]) <= 1

\* I3: a posting that is in neither index was consumed.
SpentMeansConsumed == \A p \in postings : p \notin active /\ reserved[p] = None => consumed[p] # {}

\* I8: spent is for ever.
SpentIsFinal == \A p \in Postings : consumed[p] # {} => p \notin active /\ reserved[p] = None
=============================================================================
