------------------------- MODULE PostingsMembership -------------------------
(***************************************************************************)
(* A posting's state is where its id is: in active, in reserved with the   *)
(* reservation of a saga, in neither (spent), or nowhere (missing).        *)
(*                                                                         *)
(* One action is one transaction of a primitive, as the delete-first       *)
(* encoding makes it atomic; the mutants split or weaken them.             *)
(*                                                                         *)
(* action     Go step (sim/postings)    SQL                                *)
(* Create     insert_postings           INSERT postings ON CONFLICT ..;    *)
(*                                        INSERT active_postings           *)
(* Reserve    reserve                   WITH d AS (DELETE active ..        *)
(*                                        RETURNING) INSERT reserved       *)
(* Release    release                   DELETE reserved WHERE reservation; *)
(*                                        INSERT active                    *)
(* Consume    consume                   DELETE reserved WHERE reservation  *)
(* Look, Take the two halves of Reserve when it checks, then acts (Z03)    *)
(* Lift, Land the two halves of Reserve when it is not atomic (Z05)        *)
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

Create(p) ==
    /\ p \notin postings \/ (Ungated /\ p \notin active)
    /\ postings' = postings \cup {p}
    /\ active' = active \cup {p}
    /\ UNCHANGED <<reserved, looked, lifted, won, consumed>>

Win(s, p) == won' = [won EXCEPT ![p] = @ \cup {s}]

Reserve(s, p) ==
    /\ ~CheckThenAct /\ ~NotAtomic
    /\ p \in active \/ (Steals /\ reserved[p] \notin {None, s})
    /\ active' = active \ {p}
    /\ reserved' = [reserved EXCEPT ![p] = s]
    /\ Win(s, p)
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
    /\ Win(s, looked[s])
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
    /\ Win(s, lifted[s])
    /\ lifted' = [lifted EXCEPT ![s] = None]
    /\ UNCHANGED <<postings, active, looked, consumed>>

Release(s, p) ==
    /\ IF ReleaseRevives THEN p \in postings /\ p \notin active
       ELSE reserved[p] = s \/ (ReleaseIgnoresRid /\ reserved[p] # None)
    /\ active' = active \cup {p}
    /\ reserved' = [reserved EXCEPT ![p] = None]
    /\ won' = [won EXCEPT ![p] = @ \ {s}]
    /\ UNCHANGED <<postings, looked, lifted, consumed>>

Consume(s, p) ==
    /\ reserved[p] = s \/ (ConsumeIgnoresRid /\ reserved[p] # None)
    /\ reserved' = [reserved EXCEPT ![p] = None]
    /\ consumed' = [consumed EXCEPT ![p] = @ \cup {s}]
    /\ won' = [won EXCEPT ![p] = @ \ {s}]
    /\ UNCHANGED <<postings, active, looked, lifted>>

Init ==
    /\ postings = {}
    /\ active = {}
    /\ reserved = [p \in Postings |-> None]
    /\ looked = [s \in Sagas |-> None]
    /\ lifted = [s \in Sagas |-> None]
    /\ won = [p \in Postings |-> {}]
    /\ consumed = [p \in Postings |-> {}]

Next ==
    \/ \E p \in Postings : Create(p)
    \/ \E s \in Sagas, p \in Postings : Reserve(s, p)
    \/ \E s \in Sagas, p \in Postings : Look(s, p)
    \/ \E s \in Sagas : Take(s)
    \/ \E s \in Sagas, p \in Postings : Lift(s, p)
    \/ \E s \in Sagas : Land(s)
    \/ \E s \in Sagas, p \in Postings : Release(s, p)
    \/ \E s \in Sagas, p \in Postings : Consume(s, p)

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
