"""Makes the attack corpus verifier/vectors/v3 from the published seeds; its README says what the files hold."""
