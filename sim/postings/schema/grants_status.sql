-- The commit role before migration 004: it must be able to UPDATE postings, value column included.
CREATE ROLE ledger_commit;
GRANT SELECT, INSERT ON transfers, transfer_accounts, events, accounts, books, balance_projection TO ledger_commit;
GRANT SELECT, INSERT, UPDATE ON postings TO ledger_commit;
GRANT SELECT, INSERT, UPDATE, DELETE ON sagas, account_head TO ledger_commit;
