"""Where signing keys are kept: behind `format.signing.Signer`, a key file for now."""
