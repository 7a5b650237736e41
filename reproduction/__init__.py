"""The paper's tables, figures and claims, from result files alone: no model is loaded here."""
