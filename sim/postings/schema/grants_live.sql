-- The commit role with one live table: the grant on the reservation column is enough, the value stays out of reach.
CREATE ROLE ledger_commit;
GRANT SELECT, INSERT ON postings, transfers, transfer_accounts, events, accounts, books, balance_projection TO ledger_commit;
GRANT SELECT, INSERT, DELETE, UPDATE (reservation) ON live_postings TO ledger_commit;
GRANT SELECT, INSERT, UPDATE, DELETE ON sagas, account_head TO ledger_commit;
